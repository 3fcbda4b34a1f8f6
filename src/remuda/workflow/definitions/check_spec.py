"""What a WfSpec must be. The first problem is answered, with the thread and the node it is in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from littlehorse.model.wf_spec_pb2 import WfRunVariableAccessLevel, WfSpec

from remuda.workflow.definitions.check_nodes import node_problems, path_problems
from remuda.workflow.definitions.names import name_problem
from remuda.workflow.definitions.plain import variable_problem
from remuda.workflow.definitions.spinning import spinning_node
from remuda.workflow.definitions.typing import Names
from remuda.workflow.spec import Plan, ThreadPlan, plan_of
from remuda.workflow.work import Work

NODES_MAX = 10_000


def spec_problem(work: Work, spec: WfSpec) -> str | None:
    return next(_problems(work, spec), None)


def _problems(work: Work, spec: WfSpec) -> Iterator[str]:
    problem = name_problem(spec.id.name)
    if problem is not None:
        yield problem
    if spec.entrypoint_thread_name not in spec.thread_specs:
        yield f"there is no thread {spec.entrypoint_thread_name!r} to begin with"
        return
    if sum(len(thread.nodes) for thread in spec.thread_specs.values()) > NODES_MAX:
        yield f"there are more than {NODES_MAX} nodes"
        return
    yield from _parent_problems(work, spec)
    plan = plan_of(spec.SerializeToString(deterministic=True))
    for name in sorted(spec.thread_specs):
        for problem in (*_variable_problems(work, spec, name), *_shape(plan.threads[name])):
            yield f"thread {name}: {problem}"
    parents = _ancestors(plan)
    events = _awaited(plan)
    for name, thread in plan.threads.items():
        names = Names(work, plan, name, parents[name])
        for event, handler in thread.interrupts.items():
            if work.event_def(event) is None:
                yield f"thread {name}: there is no ExternalEventDef {event} to be interrupted by"
            if handler not in plan.threads:
                yield f"thread {name}: there is no thread {handler} to handle event {event}"
            if event in events:
                yield f"thread {name}: event {event} interrupts, and {events[event]} waits for it"
        for node_name in sorted(thread.nodes):
            for problem in node_problems(names, thread.nodes[node_name]):
                yield f"thread {name}, node {node_name}: {problem}"


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _parent_problems(work: Work, spec: WfSpec) -> Iterator[str]:
    entrypoint = spec.thread_specs[spec.entrypoint_thread_name]
    inherited = [
        one.var_def.name
        for one in entrypoint.variable_defs
        if one.access_level == WfRunVariableAccessLevel.INHERITED_VAR
    ]
    if not spec.HasField("parent_wf_spec"):
        if inherited:
            yield f"variable {inherited[0]} is inherited, and there is no parent WfSpec"
        return
    parent = spec.parent_wf_spec
    plan = work.latest_plan(parent.wf_spec_name, parent.wf_spec_major_version or -1)
    if plan is None:
        yield f"there is no parent WfSpec {parent.wf_spec_name}"
        return
    offered = plan.threads[plan.entrypoint].variables
    for name in inherited:
        if name not in offered or not (offered[name].public or offered[name].inherited):
            yield f"variable {name} is inherited, and {parent.wf_spec_name} has no public one"


def _variable_problems(work: Work, spec: WfSpec, thread: str) -> Iterator[str]:
    seen: set[str] = set()
    for declared in spec.thread_specs[thread].variable_defs:
        name = declared.var_def.name
        if name in seen:
            yield f"there are two variables {name}"
        seen.add(name)
        problem = variable_problem(work, declared.var_def)
        if problem is not None:
            yield problem
        for index in declared.json_indexes:
            for path_problem in path_problems(index.field_path):
                yield f"an index of variable {name}: {path_problem}"


def _shape(thread: ThreadPlan) -> Iterator[str]:
    """The graph: one way in, ways out, and edges that lead somewhere."""
    entrypoints = [node.name for node in thread.nodes.values() if node.kind == "entrypoint"]
    if len(entrypoints) != 1:
        yield f"there are {len(entrypoints)} entrypoint nodes; there must be one"
    for name in sorted(thread.nodes):
        node = thread.nodes[name]
        if not node.kind:
            yield f"node {name} is of no kind"
        if node.kind == "exit":
            if node.edges:
                yield f"node {name} is an exit and has an edge"
        elif not node.edges:
            yield f"node {name} is not an exit and has no edge"
        for edge in node.edges:
            if edge.sink not in thread.nodes:
                yield f"node {name} has an edge to {edge.sink!r}, which is not there"
            elif thread.nodes[edge.sink].kind == "entrypoint":
                yield f"node {name} has an edge to the entrypoint"
    spinning = spinning_node(thread)
    if spinning is not None:
        yield f"node {spinning} is in a cycle that never waits and never ends"


def _ancestors(plan: Plan) -> Mapping[str, tuple[str, ...]]:
    """The threads whose variables a thread can see: those that start it, and so on up."""
    starters: dict[str, set[str]] = {name: set() for name in plan.threads}
    for name, thread in plan.threads.items():
        for started in _started_by(thread):
            if started in starters:
                starters[started].add(name)
    found: dict[str, tuple[str, ...]] = {}
    for name in plan.threads:
        line: list[str] = []
        waiting = sorted(starters[name])
        while waiting:
            one = waiting.pop(0)
            if one not in line and one != name:
                line.append(one)
                waiting += sorted(starters[one])
        found[name] = tuple(line)
    return found


def _started_by(thread: ThreadPlan) -> Iterator[str]:
    yield from thread.interrupts.values()
    for node in thread.nodes.values():
        yield from (handler.thread for handler in node.handlers)
        if node.kind in ("start_thread", "start_multiple_threads"):
            yield node.node.thread_spec_name
        elif node.kind == "wait_for_threads":
            for handler in node.node.per_thread_failure_handlers:
                yield handler.handler_spec_name


def _awaited(plan: Plan) -> dict[str, str]:
    """The node that waits for an event, by the event."""
    return {
        node.node.external_event_def_id.name: node.name
        for thread in plan.threads.values()
        for node in thread.nodes.values()
        if node.kind == "external_event"
    }
