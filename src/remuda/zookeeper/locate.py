"""Which ZooKeeper a configuration means."""

from __future__ import annotations

from pathlib import Path

from remuda.config import Config
from remuda.errors import BadConfig, Unreachable
from remuda.zookeeper.address import Address
from remuda.zookeeper.connection import Credentials

_ADDRESS_FILE = "zookeeper.address"


def data_dir(config: Config) -> Path:
    return Path(config.data).expanduser().absolute()


def locate(config: Config) -> Address:
    """The one that is named, or the one that runs on the data directory."""
    if config.zookeeper is not None:
        return Address.parse(config.zookeeper)
    try:
        return Address.parse((data_dir(config) / _ADDRESS_FILE).read_text())
    except OSError:
        raise Unreachable(
            f"no cluster runs on {data_dir(config)}: start one with `remuda up`, or name an "
            "ensemble with --zookeeper"
        ) from None


def remember(config: Config, address: str) -> None:
    """Leave the embedded server's address where `locate` finds it."""
    file = data_dir(config) / _ADDRESS_FILE
    draft = file.with_suffix(".new")
    draft.write_text(address + "\n")
    draft.replace(file)


def forget(config: Config) -> None:
    (data_dir(config) / _ADDRESS_FILE).unlink(missing_ok=True)


def credentials_of(config: Config) -> Credentials:
    auth: tuple[tuple[str, str], ...] = ()
    if config.zookeeper_auth is not None:
        scheme, colon, credential = config.zookeeper_auth.partition(":")
        if not (scheme and colon and credential):
            raise BadConfig(
                "zookeeper_auth is written as scheme:credential, such as digest:user:password"
            )
        auth = ((scheme, credential),)
    return Credentials(
        auth=auth,
        tls=config.zookeeper_tls,
        tls_ca=config.zookeeper_tls_ca,
        tls_cert=config.zookeeper_tls_cert,
        tls_key=config.zookeeper_tls_key,
        tls_verify=config.zookeeper_tls_verify,
    )
