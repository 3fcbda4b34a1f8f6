"""A Spark session for one job, in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from remuda.pipeline.driver.messages import RunJob
from remuda.pipeline.spark.session import make_session

# A task that fails is tried once more, so that the death of a Python worker costs a task and not
# the job; Spark's own `local` gives up at once.
_ATTEMPTS = 2

_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


def master_of(master: str, cores: int) -> str:
    """`local` with the job's cores; any other as it is."""
    return f"local[{cores},{_ATTEMPTS}]" if master == "local" else master


def options_for(job: RunJob, scratch: Path, options: Mapping[str, str]) -> dict[str, str]:
    """The job's own options, over those of the driver, over what its place and cores need."""
    cores = _LOOPBACK if job.master == "local" else {"spark.cores.max": str(job.cores)}
    path = os.pathsep.join(job.python_path)
    modules = {"spark.executorEnv.PYTHONPATH": path} if path else {}
    return {**_warehouse(scratch), **cores, **modules, **options, **job.options}


def session_for(job: RunJob, scratch: Path, options: Mapping[str, str]) -> SparkSession:
    """Also makes the job's modules known to this process."""
    sys.path[:0] = [path for path in job.python_path if path not in sys.path]
    return make_session(
        f"remuda {job.job_id}",
        master=master_of(job.master, job.cores),
        options=options_for(job, scratch, options),
    )


def warm_session(scratch: Path, options: Mapping[str, str]) -> SparkSession:
    """One to warm up with: small, and of this machine whatever the master of the jobs."""
    return make_session(
        "remuda spare",
        master=master_of("local", 1),
        options={**_warehouse(scratch), **_LOOPBACK, **options},
    )


def _warehouse(scratch: Path) -> dict[str, str]:
    """Not in the directory that the peer happened to be started in."""
    return {"spark.sql.warehouse.dir": str(scratch / "warehouse")}
