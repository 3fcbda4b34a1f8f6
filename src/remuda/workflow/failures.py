"""What went wrong in a node, as data."""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import (
    ERROR,
    EXCEPTION,
    LHStatus,
)
from littlehorse.model.node_run_pb2 import Failure, NodeRun
from littlehorse.model.type_definition_pb2 import VariableValue
from msgspec import Struct

from remuda.workflow.spec import is_error


class Failed(Struct, frozen=True):
    name: str
    message: str
    content: VariableValue | None = None

    @property
    def status(self) -> LHStatus:
        return ERROR if is_error(self.name) else EXCEPTION

    def seen_by_parent(self) -> Failed:
        """An EXCEPTION goes up as it is; an ERROR of a child is a CHILD_FAILURE of its parent."""
        if self.status == EXCEPTION:
            return self
        return Failed("CHILD_FAILURE", f"{self.name}: {self.message}", self.content)


def record(node: NodeRun, failed: Failed) -> None:
    """Add a failure to what is known of a node."""
    node.status = failed.status
    node.error_message = failed.message
    failure = node.failures.add(failure_name=failed.name, message=failed.message)
    if failed.content is not None:
        failure.content.CopyFrom(failed.content)


def recorded(failure: Failure) -> Failed:
    content = failure.content if failure.HasField("content") else None
    return Failed(failure.failure_name, failure.message, content)


def last_failure(node: NodeRun) -> Failed:
    if not node.failures:
        return Failed("INTERNAL_ERROR", f"node {node.node_name} failed and does not say why")
    return recorded(node.failures[-1])
