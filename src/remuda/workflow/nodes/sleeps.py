"""A sleep: for seconds, until a timestamp (or milliseconds of the epoch), or until an ISO date."""

from __future__ import annotations

from littlehorse.model.node_run_pb2 import NodeRun
from littlehorse.model.type_definition_pb2 import VariableValue
from littlehorse.model.wf_run_pb2 import ThreadRun
from littlehorse.model.wf_spec_pb2 import SleepNode

from remuda.workflow.commands import NodeDue
from remuda.workflow.data.assignments import evaluated
from remuda.workflow.data.casts import (
    MS_MAX,
    ms_of_timestamp,
    timestamp_from_ms,
    timestamp_from_text,
    whole_number,
)
from remuda.workflow.data.values import text_of
from remuda.workflow.errors import BadValue
from remuda.workflow.nodes.kind import Kind
from remuda.workflow.run import Run
from remuda.workflow.scope import ThreadScope


def _arrive(run: Run, thread: ThreadRun, node: NodeRun, spec: SleepNode) -> None:
    scope = ThreadScope(run, thread)
    match spec.WhichOneof("sleep_length"):
        case "raw_seconds":
            seconds = whole_number(evaluated(spec.raw_seconds, scope), "seconds to sleep")
            due_ms = run.work.now_ms + seconds * 1000
        case "timestamp":
            due_ms = _moment_ms(evaluated(spec.timestamp, scope))
        case _:
            due_ms = _moment_ms(evaluated(spec.iso_date, scope))
    if not 0 <= due_ms <= MS_MAX:
        raise BadValue("a sleep ends between the years 1970 and 9999")
    node.sleep.maturation_time.CopyFrom(timestamp_from_ms(due_ms))
    node.sleep.matured = due_ms <= run.work.now_ms
    if not node.sleep.matured:
        due = NodeDue(run.work.tenant, run.name, thread.number, node.id.position)
        run.work.set_timer(due_ms, due)


def _poll(run: Run, thread: ThreadRun, node: NodeRun, spec: SleepNode) -> bool:
    return node.sleep.matured


def _moment_ms(value: VariableValue) -> int:
    match value.WhichOneof("value"):
        case "utc_timestamp":
            return ms_of_timestamp(value.utc_timestamp)
        case "int":
            return value.int
        case "str":
            return ms_of_timestamp(timestamp_from_text(value.str))
        case _:
            raise BadValue(f"a sleep cannot end at {text_of(value)}")


SLEEP = Kind(_arrive, _poll)
