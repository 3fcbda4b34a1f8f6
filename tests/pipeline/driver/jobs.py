"""Jobs for drivers, as the tests of drivers need them."""

from __future__ import annotations

from pathlib import Path

from remuda.pipeline.driver.messages import RunJob
from remuda.pipeline.driver.supervisor import Launch
from tests.pipeline.driver import engines

ROOT = Path(__file__).parents[3]


# However slow the machine is, a driver is not given up before its test is.
DEADLINE_S = 240.0


def launch_in(home: Path, *, lease_s: float = DEADLINE_S) -> Launch:
    """Drivers that start sooner and top out lower."""
    return Launch(
        home=home,
        heap_mb=512,
        java_options=("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        lease_s=lease_s,
        silence_s=DEADLINE_S,
        ready_within_s=DEADLINE_S,
    )


def job_for(
    engine: type[engines.Engine], work: Path, *, mode: str = "batch", epoch: int = 1
) -> RunJob:
    spec = {
        "workflow": [["in", "out"]],
        "catalog": [
            {"name": "in", "type": "input", "plugin": "memory"},
            {"name": "out", "type": "output", "plugin": "memory"},
        ],
        "mode": mode,
    }
    return RunJob(
        job_id=work.name,
        spec=spec,
        work=str(work),
        fence_epoch=epoch,
        cores=2,
        python_path=[str(ROOT)],
        engine=f"{engines.HERE}:{engine.__name__}",
    )
