"""What a driver needs of whoever knows how to run a job on Spark.

A class without arguments, named as `module:class`. All methods are called in one thread that has
the session to itself, may block, and say by raising that they failed.
"""

from __future__ import annotations

from threading import Event
from typing import Any, Protocol

from pyspark.sql import SparkSession

from remuda.pipeline.run import Run


class Engine(Protocol):
    def stage(self, spark: SparkSession, run: Run) -> dict[str, Any]:
        """Write all output of a batch job, none of it visible; again, if it was done before."""
        ...

    def seal(self, run: Run) -> dict[str, Any]:
        """Make the output of a bounded job visible; a second time changes nothing."""
        ...

    def stream(self, spark: SparkSession, run: Run, stopping: Event) -> dict[str, Any]:
        """Run a streaming job from its checkpoint until its end, or until `stopping` is set."""
        ...
