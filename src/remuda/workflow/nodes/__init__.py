"""Every kind of node: what happens when a thread arrives, and how it is seen that it is done.

`arrive` runs once. `poll` is asked whenever something has happened to the run: True when the node
is done, False while it waits, `Failed` when it has failed. Both may raise `BadValue`, which is a
VAR_SUB_ERROR of the node. An arrival may fail as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from remuda.workflow.nodes import (
    child_runs,
    conditions,
    events,
    exits,
    sleeps,
    task_nodes,
    thread_nodes,
    thrown,
    user_task_nodes,
    waits,
)
from remuda.workflow.nodes.kind import Kind

KINDS: Mapping[str, Kind] = {
    "entrypoint": Kind(),
    "nop": Kind(),
    "exit": exits.EXIT,
    "task": task_nodes.TASK,
    "external_event": events.EXTERNAL_EVENT,
    "start_thread": thread_nodes.START_THREAD,
    "start_multiple_threads": thread_nodes.START_MULTIPLE_THREADS,
    "wait_for_threads": waits.WAIT_FOR_THREADS,
    "sleep": sleeps.SLEEP,
    "user_task": user_task_nodes.USER_TASK,
    "throw_event": thrown.THROW_EVENT,
    "wait_for_condition": conditions.WAIT_FOR_CONDITION,
    "run_child_wf": child_runs.RUN_CHILD_WF,
    "wait_for_child_wf": child_runs.WAIT_FOR_CHILD_WF,
}
