"""WfSpecs: checked, and given a version.

The same spec again is the old one. A change of what others rely on (required, public and inherited
variables of the first thread, and the type of its output) is a new major version; every other
change is a new revision.
"""

from __future__ import annotations

from littlehorse.model.common_enums_pb2 import MetadataStatus
from littlehorse.model.service_pb2 import AllowedUpdateType, PutWfSpecRequest
from littlehorse.model.wf_spec_pb2 import ThreadVarDef, WfRunVariableAccessLevel, WfSpec

from remuda.partition.machine import Rejection
from remuda.workflow.data.types import type_name, type_of_def
from remuda.workflow.definitions.check_spec import spec_problem
from remuda.workflow.definitions.definition import Refusal, Version, invalid, last_version, store
from remuda.workflow.definitions.typing import Names, type_of
from remuda.workflow.spec import plan_of
from remuda.workflow.work import Work


def put_wf_spec(work: Work, request: PutWfSpecRequest) -> WfSpec | Refusal:
    new = WfSpec(
        created_at=work.now,
        status=MetadataStatus.ACTIVE,
        entrypoint_thread_name=request.entrypoint_thread_name,
    )
    new.id.name = request.name
    for name in request.thread_specs:
        new.thread_specs[name].CopyFrom(request.thread_specs[name])
    if request.HasField("retention_policy"):
        new.retention_policy.CopyFrom(request.retention_policy)
    if request.HasField("parent_wf_spec"):
        new.parent_wf_spec.CopyFrom(request.parent_wf_spec)
    problem = spec_problem(work, new)
    if problem is not None:
        return invalid(f"WfSpec {request.name}: {problem}")
    new.frozen_variables.extend(_relied_on(new))
    return _versioned(work, new, request.allowed_updates)


def _versioned(work: Work, new: WfSpec, allowed: AllowedUpdateType) -> WfSpec | Refusal:
    name = new.id.name
    data = work.latest("spec", name)
    if data is not None:
        old = WfSpec.FromString(data)
        if _same(old, new):
            return old
        if allowed == AllowedUpdateType.NO_UPDATES:
            reason = f"there is another WfSpec {name}, and updates are not allowed"
            return Refusal(Rejection.EXISTS, reason)
        if _breaks(work, old, new):
            if allowed == AllowedUpdateType.MINOR_REVISION_UPDATES:
                reason = (
                    f"WfSpec {name} would need a new major version: what others rely on has changed"
                )
                return Refusal(Rejection.PRECONDITION, reason)
        else:
            return _stored(work, new, _next_revision(work, old))
    last = last_version(work, "spec", name)
    return _stored(work, new, Version(0 if last is None else last.major + 1))


def _next_revision(work: Work, old: WfSpec) -> Version:
    """After the last that was ever given in this major version."""
    last = last_version(work, "spec", old.id.name)
    if last is not None and last.major == old.id.major_version:
        return Version(last.major, last.revision + 1)
    return Version(old.id.major_version, old.id.revision + 1)


def _stored(work: Work, new: WfSpec, version: Version) -> WfSpec:
    new.id.major_version, new.id.revision = version.major, version.revision
    store(work, "spec", new.id.name, version, new)
    return new


def _same(old: WfSpec, new: WfSpec) -> bool:
    copy = WfSpec()
    copy.CopyFrom(old)
    copy.id.CopyFrom(new.id)
    copy.created_at.CopyFrom(new.created_at)
    return copy == new


def _breaks(work: Work, old: WfSpec, new: WfSpec) -> bool:
    return _promises(old) != _promises(new) or _output(work, old) != _output(work, new)


def _relied_on(spec: WfSpec) -> list[ThreadVarDef]:
    return [
        variable
        for variable in spec.thread_specs[spec.entrypoint_thread_name].variable_defs
        if variable.access_level != WfRunVariableAccessLevel.PRIVATE_VAR
    ]


def _promises(spec: WfSpec) -> dict[str, tuple[str, bool, int]]:
    entrypoint = spec.thread_specs[spec.entrypoint_thread_name]
    return {
        one.var_def.name: (type_name(type_of_def(one.var_def)), one.required, one.access_level)
        for one in entrypoint.variable_defs
        if one.required or one.access_level != WfRunVariableAccessLevel.PRIVATE_VAR
    }


def _output(work: Work, spec: WfSpec) -> set[str]:
    """The types that the first thread may put out."""
    plan = plan_of(spec.SerializeToString(deterministic=True))
    names = Names(work, plan, plan.entrypoint, ())
    found: set[str] = set()
    for node in plan.threads[plan.entrypoint].nodes.values():
        if node.kind == "exit" and node.node.WhichOneof("result") == "return_content":
            type_def = type_of(node.node.return_content, names)
            found.add("unknown" if type_def is None else type_name(type_def))
    return found
