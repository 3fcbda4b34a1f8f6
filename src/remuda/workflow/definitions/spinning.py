"""Cycles that never wait: a thread that enters one would never leave it.

A node that does not wait and whose first edge has no condition leads to one place for sure. A walk
along such nodes that comes back to where it was is a spec that cannot work. A cycle with a
condition may well end; those that do not are stopped when they run.
"""

from __future__ import annotations

from remuda.workflow.spec import ThreadPlan

NEVER_WAIT = frozenset(
    {
        "entrypoint",
        "nop",
        "start_thread",
        "start_multiple_threads",
        "throw_event",
        "run_child_wf",
    }
)


def spinning_node(thread: ThreadPlan) -> str | None:
    """The first node, by name, of a cycle that nothing can end."""
    for start in sorted(thread.nodes):
        seen: set[str] = set()
        at = start
        while at not in seen:
            seen.add(at)
            node = thread.nodes.get(at)
            if node is None or node.kind not in NEVER_WAIT or not node.edges:
                break
            if node.edges[0].condition is not None:
                break
            at = node.edges[0].sink
        else:
            return at
    return None
