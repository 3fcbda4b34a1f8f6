"""What users see of what went wrong in Spark."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from remuda.pipeline.killed import JobKilled, TaskFailed
from remuda.pipeline.model.problems import BadJob, Problem
from remuda.pipeline.spark.failures import KilledInWorker, killed_by, marked


def raised_in_a_worker() -> str:
    """The text that Spark makes of what a worker raised."""

    def divide(row: dict[str, int]) -> float:
        return 1 / row["n"]

    try:
        with marked():
            try:
                divide({"n": 0})
            except ZeroDivisionError as error:
                raise TaskFailed("divide", "the task `divide`", error, row={"n": 0}) from error
    except Exception as error:
        return (
            f"Job aborted:\nTraceback …\n{type(error).__name__}: {error}\n SQLSTATE: 38000\n\tat x"
        )
    raise AssertionError


def test_what_killed_a_job_in_a_worker_is_found_in_what_spark_says() -> None:
    killed = killed_by(PySparkException(raised_in_a_worker()))
    assert isinstance(killed, KilledInWorker)
    assert killed.task == "divide"
    assert killed.where == f"{__file__}:17"
    assert str(killed) == (
        f"the task `divide` raised ZeroDivisionError: division by zero at {__file__}:17, for the "
        "row {'n': 0}: mend the function"
    )


TRACEBACK = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/opt/app/orders.py", line 12, in price
    return float(order["amount"])
ValueError: could not convert string to float: 'x'
"""


def test_a_traceback_of_python_is_told_by_its_last_line_and_the_users() -> None:
    assert str(killed_by(PySparkException(TRACEBACK))) == (
        "a Python function raised ValueError: could not convert string to float: 'x' at "
        "/opt/app/orders.py:12: mend the function"
    )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            PySparkException("[NO_PATH] it is not there.\n\nat org.x"),
            r"\[NO_PATH\] it is not there\.$",
        ),
        (OSError("the disk is full"), "OSError: the disk is full$"),
    ],
)
def test_anything_else_is_told_by_its_first_line(error: Exception, told: str) -> None:
    with pytest.raises(JobKilled, match=told):
        raise killed_by(error)


def test_an_error_of_ours_stays_what_it_is() -> None:
    ours = BadJob([Problem("the job", None, "is bad")])
    assert killed_by(ours) is ours
