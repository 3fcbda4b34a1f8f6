"""What a kind of node answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.wf_run_pb2 import ThreadRun
from msgspec import Struct

from remuda.workflow.failures import Failed
from remuda.workflow.run import Run

Arrive: TypeAlias = Callable[[Run, ThreadRun, NodeRun, Any], Failed | None]
Poll: TypeAlias = Callable[[Run, ThreadRun, NodeRun, Any], bool | Failed]
"""The run, the thread, the node's run, and the message in the spec."""


def _at_once(run: Run, thread: ThreadRun, node: NodeRun, spec: Any) -> bool:
    return True


def _nothing(run: Run, thread: ThreadRun, node: NodeRun, spec: Any) -> None:
    return None


class Kind(Struct, frozen=True):
    arrive: Arrive = _nothing
    poll: Poll = _at_once
