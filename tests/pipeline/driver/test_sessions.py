"""What a job's session has."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.pipeline.driver.messages import RunJob
from remuda.pipeline.driver.sessions import master_of, options_for


@pytest.mark.parametrize(
    ("master", "spark_master"),
    [("local", "local[3,2]"), ("spark://host:7077", "spark://host:7077")],
)
def test_a_job_has_its_cores_on_a_local_master(master: str, spark_master: str) -> None:
    assert master_of(master, 3) == spark_master


def test_on_another_master_a_job_has_at_most_its_cores() -> None:
    job = RunJob(job_id="j", spec={}, work="/w", fence_epoch=1, master="spark://host:1", cores=5)
    options = options_for(job, Path("/scratch"), {})
    assert options["spark.cores.max"] == "5"
    assert "spark.driver.host" not in options


def test_a_jobs_options_come_before_those_of_the_driver() -> None:
    job = RunJob(
        job_id="j",
        spec={},
        work="/w",
        fence_epoch=1,
        options={"spark.a": "of the job"},
        python_path=["/one", "/two"],
    )
    options = options_for(job, Path("/scratch"), {"spark.a": "of the driver", "spark.b": "too"})
    assert options["spark.a"] == "of the job"
    assert options["spark.b"] == "too"
    assert options["spark.executorEnv.PYTHONPATH"] == "/one:/two"
    assert options["spark.sql.warehouse.dir"] == "/scratch/warehouse"
