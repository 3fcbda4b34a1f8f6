"""The list of LittleHorse's calls, as `docs/littlehorse.md` has it, made from the handlers.

python -m remuda.api.littlehorse.calls_doc > docs/littlehorse.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from littlehorse.model.acls_pb2 import ACLAction, ACLResource

from remuda.api.littlehorse import definitions, events, runs, tenants, user_tasks, workers
from remuda.api.littlehorse.callers import RIGHTS
from remuda.api.littlehorse.handlers import METHODS
from remuda.api.littlehorse.service import UNIMPLEMENTED

_NOUNS = (
    ("Definitions", definitions.HANDLERS),
    ("Runs, nodes, variables, schedules", runs.HANDLERS),
    ("Tasks and workers", {**workers.HANDLERS, "PollTask": None}),
    ("Events", events.HANDLERS),
    ("User tasks", user_tasks.HANDLERS),
    ("Tenants, principals, the server", tenants.HANDLERS),
)

_HEAD = """\
# LittleHorse's calls

A node speaks LittleHorse's gRPC protocol, as `littlehorse-client` 1.3 on PyPI has it, on the port
where it takes all other calls. {implemented} of its {all} calls are implemented. The others are
answered with UNIMPLEMENTED and their name. [workflows.md](workflows.md) is the guide.

This page is made from the code, by `python -m remuda.api.littlehorse.calls_doc`.
"""

_LIMITS = """\
## Where an implemented call does less

- `SearchWfRun` needs a spec's name, a parent or the value of a variable; `SearchNodeRun` needs an
  ExternalEventDef; `SearchWfSpec` finds by name and prefix, not by TaskDef.
- `RegisterTaskWorker` answers with all nodes. Each hands out the tasks of its own partitions.
- A page has 100 results unless the request says otherwise, and 1,000 at most.
- Nodes take no credentials, so every caller is the principal `anonymous`. Others can be put, and
  nobody can be them yet.
- A tenant's `output_topic_config` is kept and has no effect.
"""


def calls_markdown() -> str:
    head = _HEAD.format(implemented=len(METHODS) - len(UNIMPLEMENTED), all=len(METHODS))
    sections = [_implemented(noun, calls) for noun, calls in _NOUNS]
    missing = "".join(f"- `{call}`\n" for call in METHODS if call in UNIMPLEMENTED)
    return "\n".join([head, *sections, _LIMITS, f"## Not implemented\n\n{missing}"])


def _implemented(noun: str, calls: Iterable[str]) -> str:
    wanted = {*calls}
    rows = "".join(f"| `{call}` | {_right(call)} |\n" for call in METHODS if call in wanted)
    return f"## {noun}\n\n| call | needs |\n|---|---|\n{rows}"


def _right(call: str) -> str:
    right = RIGHTS.get(call)
    if right is None:
        return "nothing"
    return f"`{ACLAction.Name(right.action)}` on `{ACLResource.Name(right.resource)}`"


if __name__ == "__main__":
    sys.stdout.write(calls_markdown())
