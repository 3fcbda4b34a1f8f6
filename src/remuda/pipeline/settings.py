"""What the configuration says about drivers, and where they find things."""

from __future__ import annotations

import os
from pathlib import Path

from remuda.config import Config
from remuda.errors import BadConfig
from remuda.pipeline.driver.supervisor import Launch
from remuda.pipeline.leading import Terms
from remuda.zookeeper.locate import data_dir

# A driver whose peer is not heard of stops before the cluster counts the peer as gone.
_LEASE_PER_SESSION = 0.5


def launch_of(config: Config) -> Launch:
    return Launch(
        home=data_dir(config) / "drivers",
        heap_mb=config.driver_memory_mb,
        options=_conf(config.spark_conf),
        lease_s=config.session_timeout_s * _LEASE_PER_SESSION,
    )


def terms_of(config: Config) -> Terms:
    return Terms(work=jobs_dir(config), master=config.spark_master)


def jobs_dir(config: Config) -> Path:
    """Where each job has a directory of its own."""
    if config.jobs is None:
        return data_dir(config) / "jobs"
    return Path(config.jobs).expanduser().absolute()


def slots_of(config: Config) -> int:
    if config.slots is None:
        return os.cpu_count() or 1
    if config.slots < 0:
        raise BadConfig(f"slots cannot be {config.slots}: it is how many cores jobs are given")
    return config.slots


def tags_of(config: Config) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.strip() for tag in config.tags.split(",") if tag.strip()))


def _conf(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    for key, equals, _ in pairs:
        if not equals or not key.strip().startswith("spark."):
            raise BadConfig(f"spark_conf has `{key}`: write it as spark.key=value,spark.key=value")
    return {key.strip(): value.strip() for key, _, value in pairs}
