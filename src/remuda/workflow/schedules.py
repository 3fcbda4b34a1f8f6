"""Schedules: runs that begin by the clock.

A schedule lives in the partition of its own id, and each run that it begins in the partition of
the run's. The id of a run is made of the schedule's and the time it was due, so that it is the same
whenever it is worked out.
"""

from __future__ import annotations

from littlehorse.model.scheduled_wf_run_pb2 import ScheduledWfRun
from littlehorse.model.service_pb2 import RunWfRequest, ScheduleWfRequest

from remuda.workflow.commands import Call, ScheduleDue
from remuda.workflow.cron import parse_cron
from remuda.workflow.data.values import run_id_from_text
from remuda.workflow.errors import BadValue
from remuda.workflow.keys import schedule_key
from remuda.workflow.placement import partition_of_run
from remuda.workflow.spec import Plan
from remuda.workflow.threads import starting_values
from remuda.workflow.work import Work


def put_schedule(
    work: Work, plan: Plan, request: ScheduleWfRequest, name: str
) -> ScheduledWfRun | None:
    """None if the id is used. Raises `BadValue` if it would never run, or never begin."""
    key = schedule_key(work.tenant, name)
    if work.objects.get(key, ScheduledWfRun) is not None:
        return None
    due_ms = parse_cron(request.cron_expression).next_after(work.now_ms)
    if due_ms is None:
        raise BadValue(f"cron expression {request.cron_expression!r} never happens")
    variables = {name: request.variables[name] for name in sorted(request.variables)}
    starting_values(work, plan.threads[plan.entrypoint], variables)
    schedule = ScheduledWfRun(cron_expression=request.cron_expression, created_at=work.now)
    schedule.id.id = name
    schedule.wf_spec_id.CopyFrom(plan.spec_id)
    for variable, value in variables.items():
        schedule.variables[variable].CopyFrom(value)
    if request.HasField("parent_wf_run_id"):
        schedule.parent_wf_run_id.CopyFrom(request.parent_wf_run_id)
    work.objects.put(key, schedule)
    work.set_timer(due_ms, ScheduleDue(work.tenant, name))
    return schedule


def delete_schedule(work: Work, name: str) -> bool:
    key = schedule_key(work.tenant, name)
    if work.objects.get(key, ScheduledWfRun) is None:
        return False
    work.clear_timer(ScheduleDue(work.tenant, name))
    work.objects.delete(key)
    return True


def run_scheduled(work: Work, due: ScheduleDue) -> None:
    """Begin a run, and wait for the next time. Times that were missed are not made up for."""
    schedule = work.objects.get(schedule_key(work.tenant, due.schedule), ScheduledWfRun)
    if schedule is None:
        return
    spec = schedule.wf_spec_id
    request = RunWfRequest(wf_spec_name=spec.name, id=f"{due.schedule}-{work.now_ms}")
    for variable in schedule.variables:
        request.variables[variable].CopyFrom(schedule.variables[variable])
    run_id = run_id_from_text(request.id)
    if schedule.HasField("parent_wf_run_id"):
        request.parent_wf_run_id.CopyFrom(schedule.parent_wf_run_id)
        run_id.parent_wf_run_id.CopyFrom(schedule.parent_wf_run_id)
    work.send(
        partition_of_run(work.tenant, run_id, work.partitions),
        Call(
            work.tenant,
            "RunWf",
            request.SerializeToString(deterministic=True),
            major=spec.major_version,
            revision=spec.revision,
        ),
    )
    next_ms = parse_cron(schedule.cron_expression).next_after(work.now_ms)
    if next_ms is not None:
        work.set_timer(next_ms, due)
