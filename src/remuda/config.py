"""Configuration is data: the fields of `Config` are the table of options.

Each field carries its documentation, its unit and the version that brought it. Command-line
flags, environment variables, the file's keys and `docs/options.md` are all made from it.

An option's value is the first that is given of: the flag `--session-timeout`, the environment
variable `REMUDA_SESSION_TIMEOUT`, the key `session_timeout` in the file (`--config`, or
`REMUDA_CONFIG`, or `remuda.toml` in the current directory), the default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from remuda.errors import BadConfig

ENVIRONMENT_PREFIX = "REMUDA_"
FILE_NAME = "remuda.toml"


def _doc(
    text: str,
    *,
    since: str = "0.1",
    unit: str = "",
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> Meta:
    extra = {"since": since, "unit": unit}
    most = _DAY_S if unit == "s" else most
    if least is not None:
        return Meta(description=text, ge=least, le=most, extra=extra)
    above = 0 if unit == "s" else above
    return Meta(description=text, gt=above, le=most, extra=extra)


_DAY_S = 86_400.0


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every option, with its default. `load` makes one from flags, environment and file."""

    zookeeper: Annotated[
        str | None,
        _doc(
            "The ensemble to use, as host:port,host:port/chroot. Without it, the one that "
            "`remuda up` runs on the data directory."
        ),
    ] = None
    zookeeper_auth: Annotated[
        str | None,
        _doc("Credentials, as scheme:credential (digest:user:password). Znodes are then ours."),
    ] = None
    zookeeper_tls: Annotated[bool, _doc("Speak TLS to ZooKeeper.")] = False
    zookeeper_tls_ca: Annotated[
        str | None, _doc("The authority that signed the servers' certificates, a PEM file.")
    ] = None
    zookeeper_tls_cert: Annotated[str | None, _doc("Our certificate, a PEM file.")] = None
    zookeeper_tls_key: Annotated[str | None, _doc("Our private key, a PEM file.")] = None
    zookeeper_tls_verify: Annotated[bool, _doc("Check the servers' certificates.")] = True
    zookeeper_port: Annotated[
        int, _doc("The embedded ZooKeeper's port; 0 means a free one.", least=0, most=65535)
    ] = 0
    data: Annotated[str, _doc("The directory below which everything on disk lies.")] = "~/.remuda"
    session_timeout_s: Annotated[
        float,
        _doc(
            "How long a silent peer counts as alive: takeover takes this long.", unit="s", above=0
        ),
    ] = 6.0
    connect_timeout_s: Annotated[
        float, _doc("How long to try to reach ZooKeeper at the start.", unit="s")
    ] = 10.0
    join_timeout_s: Annotated[
        float,
        _doc("How long a joiner waits for its observer before it asks anew.", unit="s"),
    ] = 15.0
    leave_timeout_s: Annotated[
        float, _doc("How long a peer that leaves tries to say so.", unit="s")
    ] = 10.0
    settle_time_s: Annotated[
        float,
        _doc(
            "How long a pool's members must be the same before owned units move.", unit="s", least=0
        ),
    ] = 3.0
    rebalance_interval_s: Annotated[
        float, _doc("How often a pool that is balanced by load is looked at.", unit="s")
    ] = 60.0
    load_interval_s: Annotated[
        float, _doc("How often a member reports the load of its units.", unit="s")
    ] = 60.0
    drain_time_s: Annotated[
        float,
        _doc("Over how long a member that drains gives its units up, evenly.", unit="s", least=0),
    ] = 0.0
    drain_deadline_s: Annotated[
        float,
        _doc("After how long a member that leaves gives up draining and goes.", unit="s", least=0),
    ] = 60.0
    start_attempts: Annotated[
        int, _doc("How often a unit is tried to start before it is given to another.", least=1)
    ] = 5
    ack_timeout_s: Annotated[
        float,
        _doc("How long a slot may take to ack a task before it is counted on no more.", unit="s"),
    ] = 10.0
    slots: Annotated[
        int | None,
        _doc("How many cores a peer gives to jobs; all of the machine's if not said."),
    ] = None
    tags: Annotated[
        str, _doc("What is special about a peer's slots, for jobs that ask for it: gpu,ssd.")
    ] = ""
    spares: Annotated[
        int, _doc("How many warm Spark drivers a node keeps once there are jobs.", least=0)
    ] = 1
    jobs: Annotated[
        str | None,
        _doc(
            "Where jobs keep checkpoints; on storage that all nodes reach. Without it, `jobs` in "
            "the data directory."
        ),
    ] = None
    spark_master: Annotated[
        str, _doc("Where Spark runs jobs: `local`, in the driver, or a master's URL.")
    ] = "local"
    spark_conf: Annotated[
        str, _doc("What every Spark session is given, as key=value,key=value.")
    ] = ""
    driver_memory_mb: Annotated[int, _doc("The heap of a Spark driver.", unit="mb", above=0)] = 1024
    partitions: Annotated[
        int,
        _doc(
            "How many data partitions a cluster is founded with; fixed from then on.",
            least=1,
            most=1024,
        ),
    ] = 16
    history_keep: Annotated[
        int, _doc("How many of its last commands a data partition keeps.", least=0)
    ] = 100_000
    grpc_host: Annotated[
        str, _doc("The address that a node takes calls at; others must be able to reach it.")
    ] = "127.0.0.1"
    grpc_port: Annotated[
        int,
        _doc(
            "The port that a node takes calls at, and the nodes of `up` from there on; 0 means a "
            "free one.",
            least=0,
            most=65535,
        ),
    ] = 0
    route_timeout_s: Annotated[
        float,
        _doc("How long a node waits for a partition's owner before a call fails.", unit="s"),
    ] = 30.0
    gc_entries: Annotated[
        int, _doc("The cluster log is collected when it is this many entries long.", above=0)
    ] = 20_000
    check_invariants: Annotated[
        bool, _doc("Check every invariant of the replica after every entry.")
    ] = False


class Option(Struct, frozen=True):
    """One row of the table."""

    field: str
    type: Any
    default: Any
    doc: str
    unit: str
    since: str

    @property
    def name(self) -> str:
        """What users write: a field without its unit."""
        return self.field.removesuffix(f"_{self.unit}") if self.unit else self.field

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()


def _options() -> dict[str, Option]:
    table: dict[str, Option] = {}
    hints = get_type_hints(Config, include_extras=True)
    for field in msgspec.structs.fields(Config):
        kind, meta = get_args(hints[field.name])
        assert get_origin(hints[field.name]) is Annotated
        option = Option(
            field.name,
            kind,
            field.default,
            meta.description,
            meta.extra["unit"],
            meta.extra["since"],
        )
        table[option.name] = option
    return table


OPTIONS = _options()


def load(
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Config:
    """The configuration from what was given, by option name; None in `flags` is not given."""
    values: dict[str, Any] = {}
    if file is not None:
        values |= {name: (value, f"in {file}") for name, value in _read(file).items()}
    for option in OPTIONS.values():
        if environment and option.variable in environment:
            values[option.name] = (environment[option.variable], f"in ${option.variable}")
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = (value, f"after {OPTIONS[name].flag}")
    return Config(
        **{
            OPTIONS[name].field: _converted(OPTIONS[name], value, where)
            for name, (value, where) in values.items()
        }
    )


def _read(file: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(file.read_text())
    except OSError as error:
        raise BadConfig(f"cannot read the configuration {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"the configuration {file} is not TOML: {error}") from None
    for name in values:
        if name not in OPTIONS:
            raise BadConfig(
                f"`{name}` in {file} is not an option; there are: {', '.join(sorted(OPTIONS))}"
            )
    return values


def _converted(option: Option, value: Any, where: str) -> Any:
    hint = get_type_hints(Config, include_extras=True)[option.field]
    try:
        return msgspec.convert(value, hint, strict=False)
    except msgspec.ValidationError as error:
        raise BadConfig(f"{option.name} cannot be `{value}` ({where}): {error}") from None
