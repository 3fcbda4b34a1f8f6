"""What is said arrives as it was said."""

from __future__ import annotations

import pytest

from remuda.pipeline.driver.messages import (
    Beat,
    Begin,
    Failed,
    FromDriver,
    Ready,
    RunJob,
    Seal,
    Sealed,
    Staged,
    Started,
    Stop,
    Stopped,
    ToDriver,
    Told,
    from_driver,
    line_of,
    to_driver,
)
from remuda.pipeline.run import Progress


@pytest.mark.parametrize(
    "message",
    [
        Begin(scratch="/s", heap_mb=512, java_options=["-Da=b"], options={"a": "b"}),
        RunJob(job_id="j", spec={"workflow": []}, work="/w", fence_epoch=7, python_path=["/p"]),
        Beat(1.5),
        Seal(),
        Stop("killed", 2.0),
    ],
)
def test_a_driver_reads_what_its_peer_wrote(message: ToDriver) -> None:
    line = line_of(message)
    assert line.count(b"\n") == 1
    assert to_driver(line) == message


@pytest.mark.parametrize(
    "message",
    [
        Ready(1, 2, 3.5),
        Started(0.1),
        Told(Progress(edges={"a → b": 3}, done=0.5)),
        Staged({"rows": 1}),
        Sealed({}),
        Stopped("killed", {"epoch": 3}),
        Failed("two\nlines", where="a.py:1 in f", retry=True),
        Beat(),
    ],
)
def test_a_peer_reads_what_its_driver_wrote(message: FromDriver) -> None:
    line = line_of(message)
    assert line.count(b"\n") == 1
    assert from_driver(line) == message
