"""From what Spark says to one line and a place."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.errors import PySparkException

from remuda.errors import BadConfig
from remuda.pipeline.driver.blame import blame
from remuda.pipeline.driver.messages import Failed
from remuda.pipeline.run import Fenced

SPARK = pyspark.__file__.removesuffix("__init__.py")

FROM_A_WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/jobs/clean.py", line 8, in clean
    parse(row)
  File "/jobs/parse.py", line 3, in parse
    raise ValueError(row)
ValueError: bad row 6
and what is bad about it
"""

FROM_A_STREAM = f"""[STREAM_FAILED] Query [id = 9] terminated with exception: Traceback (most \
recent call last):
  File "{SPARK}sql/utils.py", line 163, in call
    self.func(rows, epoch)
  File "/jobs/run.py", line 25, in publish
    rows.collect()
pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
{FROM_A_WORKER} SQLSTATE: 39000
=== Streaming Query ===
Current State: ACTIVE
"""

FROM_OURS = """Traceback (most recent call last):
  File "/jobs/parse.py", line 3, in parse
    raise ValueError(row)
ValueError: bad row 6

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "<frozen importlib>", line 10, in run
remuda.pipeline.killed.TaskFailed: `parse` raised ValueError: bad row 6: mend the function
"""

FENCED = """[STREAM_FAILED] Query [id = 9] terminated with:
Traceback (most recent call last):
  File "<frozen importlib>", line 10, in publish
remuda.pipeline.run.Fenced: taken over
 SQLSTATE: 39000
"""

LOST_TASK = (
    "An error occurred while calling o112.parquet.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 2.0 "
    "failed 1 times, most recent failure: Lost task 0.0 in stage 2.0 (TID 4) (host-1 executor "
    "driver): {}\n\tat org.apache.hadoop.fs.FileSystem.create(FileSystem.java:1234)\n"
)
NO_ROOM = LOST_TASK.format("java.io.IOException: No space left on device")
CRASH = LOST_TASK.format(
    "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider more."
)


class Py4JJavaError(Exception):
    __module__ = "py4j.protocol"


@pytest.mark.parametrize(
    ("error", "failed"),
    [
        pytest.param(
            PySparkException(FROM_A_WORKER),
            Failed("ValueError: bad row 6", "/jobs/parse.py:3 in parse"),
            id="a Python worker",
        ),
        pytest.param(
            PySparkException(FROM_A_STREAM),
            Failed("ValueError: bad row 6", "/jobs/parse.py:3 in parse"),
            id="a Python worker of a stream",
        ),
        pytest.param(
            PySparkException(FROM_OURS),
            Failed(
                "`parse` raised ValueError: bad row 6: mend the function",
                "/jobs/parse.py:3 in parse",
            ),
            id="an error of ours, raised in a Python worker",
        ),
        pytest.param(
            PySparkException(
                "[NO_TABLE] The table `t` cannot be found. SQLSTATE: 42P01; line 1 pos 17;\n'Plan"
            ),
            Failed("[NO_TABLE] The table `t` cannot be found."),
            id="Spark itself",
        ),
        pytest.param(
            Py4JJavaError(NO_ROOM), Failed("IOException: No space left on device"), id="Java"
        ),
        pytest.param(
            Py4JJavaError(CRASH),
            Failed(
                "a process of the job died: SparkException: Python worker exited unexpectedly "
                "(crashed). Consider more.",
                retry=True,
            ),
            id="a crash",
        ),
        pytest.param(Fenced("taken over"), Failed("taken over", retry=True), id="a fence"),
        pytest.param(
            PySparkException(FENCED), Failed("taken over", retry=True), id="a fence in a stream"
        ),
        pytest.param(BadConfig("mend this"), Failed("mend this"), id="an error of ours"),
    ],
)
def test_one_line_tells_what_went_wrong(error: Exception, failed: Failed) -> None:
    assert blame(error) == failed


def test_an_error_in_the_driver_points_to_the_users_line_too() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        divided_by(0)
    line = divided_by.__code__.co_firstlineno + 1
    assert blame(raised.value) == Failed(
        "ZeroDivisionError: division by zero", f"{__file__}:{line} in divided_by"
    )


def divided_by(number: int) -> float:
    return 1 / number
