"""Where things are: every key of the workflow machine, in one place.

What belongs to a run has the run in its key, right after the tenant, so that a scan finds it and
a delete takes it. A child run is in the partition of its oldest ancestor. All begin with `w`:

    wd tenant kind name major revision    definitions; versions where there are none are 0
    wx tenant kind name major revision    specs that were deleted, for the runs that they have
    wl tenant kind name                   the newest version ever given to a name
    wr tenant run                         WfRun
    wn tenant run thread position         NodeRun
    wv tenant run thread name             Variable
    wt tenant run guid                    TaskRun
    wc tenant run guid number             Checkpoint
    we tenant run event guid              ExternalEvent
    wf tenant run event number            the guid of an ExternalEvent that nobody has claimed
    wu tenant run guid                    UserTaskRun
    wh tenant run event number            WorkflowEvent
    wk tenant run child                   that it has this child
    wo tenant event key                   CorrelatedEvent
    wp tenant event key run thread node   the partition of a node that waits for it
    ws tenant schedule                    ScheduledWfRun
    wq tenant task time guid              a task that waits for a worker: its run
    wi tenant tag … time id               tags; see `tags`
"""

from __future__ import annotations

from functools import lru_cache

from littlehorse.model.object_id_pb2 import WfRunId

from remuda.partition.keys import key, text, u64
from remuda.workflow.data.values import run_id_text

PREFIX = b"w"

DEFINITION = PREFIX + b"d"
RETIRED = PREFIX + b"x"
LATEST = PREFIX + b"l"
RUN = PREFIX + b"r"
NODE = PREFIX + b"n"
VARIABLE = PREFIX + b"v"
TASK = PREFIX + b"t"
CHECKPOINT = PREFIX + b"c"
EVENT = PREFIX + b"e"
UNCLAIMED = PREFIX + b"f"
USER_TASK = PREFIX + b"u"
THROWN = PREFIX + b"h"
CHILD = PREFIX + b"k"
CORRELATED = PREFIX + b"o"
CORRELATION = PREFIX + b"p"
SCHEDULE = PREFIX + b"s"
QUEUE = PREFIX + b"q"
TAG = PREFIX + b"i"

OF_A_RUN = (USER_TASK, NODE, VARIABLE, TASK, CHECKPOINT, EVENT, UNCLAIMED, THROWN, CHILD)
"""What goes when a run goes, in this order: a user task needs its node to the last."""


@lru_cache(maxsize=4096)
def name_text(name: str) -> bytes:
    """Of a name of which there are few: a tenant's, a definition's."""
    return text(name)


def place(tenant: str, run_id: WfRunId) -> bytes:
    """The part of a key that says whose it is."""
    return name_text(tenant) + text(run_id_text(run_id))


def run_key(at: bytes) -> bytes:
    return RUN + at


def node_key(at: bytes, thread: int, position: int) -> bytes:
    return NODE + at + u64(thread) + u64(position)


def variable_key(at: bytes, thread: int, name: str) -> bytes:
    return VARIABLE + at + u64(thread) + name_text(name)


def task_key(at: bytes, guid: str) -> bytes:
    return TASK + at + text(guid)


def checkpoint_key(at: bytes, guid: str, number: int) -> bytes:
    return CHECKPOINT + at + text(guid) + u64(number)


def event_key(at: bytes, event: str, guid: str) -> bytes:
    return EVENT + at + text(event) + text(guid)


def unclaimed_key(at: bytes, event: str, number: int) -> bytes:
    return UNCLAIMED + at + text(event) + u64(number)


def user_task_key(at: bytes, guid: str) -> bytes:
    return USER_TASK + at + text(guid)


def thrown_key(at: bytes, event: str, number: int) -> bytes:
    return THROWN + at + text(event) + u64(number)


def child_key(at: bytes, child: str) -> bytes:
    return CHILD + at + text(child)


def queue_key(tenant: str, task_def: str, at_ms: int, guid: str) -> bytes:
    return QUEUE + name_text(tenant) + name_text(task_def) + u64(at_ms) + text(guid)


@lru_cache(maxsize=4096)
def definition_key(tenant: str, kind: str, name: str, major: int = 0, revision: int = 0) -> bytes:
    return key(DEFINITION, tenant, kind, name, major, revision)


def schedule_key(tenant: str, schedule: str) -> bytes:
    return key(SCHEDULE, tenant, schedule)


def retired_key(tenant: str, kind: str, name: str, major: int, revision: int) -> bytes:
    return key(RETIRED, tenant, kind, name, major, revision)


def latest_key(tenant: str, kind: str, name: str) -> bytes:
    return key(LATEST, tenant, kind, name)


def correlated_key(tenant: str, event: str, correlation: str) -> bytes:
    return key(CORRELATED, tenant, event, correlation)


def correlation_key(tenant: str, event: str, correlation: str) -> bytes:
    """Of everything that waits for this event: a prefix."""
    return key(CORRELATION, tenant, event, correlation)
