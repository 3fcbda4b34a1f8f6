# The client's authoring has no types to rely on.
# pyright: basic, reportArgumentType=false
"""User tasks: assigned, saved, completed, cancelled, reminded of, talked about."""

from __future__ import annotations

from typing import Any

import pytest
from littlehorse.model.common_enums_pb2 import VariableType
from littlehorse.model.user_tasks_pb2 import (
    AssignUserTaskRunRequest,
    CancelUserTaskRunRequest,
    CompleteUserTaskRunRequest,
    DeleteUserTaskRunCommentRequest,
    EditUserTaskRunCommentRequest,
    PutUserTaskRunCommentRequest,
    SaveUserTaskRunProgressRequest,
    UserTaskEvent,
    UserTaskRun,
    UserTaskRunStatus,
)
from littlehorse.utils import to_variable_value
from littlehorse.workflow import UserTaskOutput, WorkflowThread

from remuda.partition.machine import Outcome, Rejection
from tests.workflow.world import World, done, refused

STR, BOOL, JSON_OBJ = VariableType.STR, VariableType.BOOL, VariableType.JSON_OBJ


@pytest.fixture
def world() -> World:
    world = World()
    world.user_task_def("approve", ("ok", BOOL, True), ("why", STR, False))
    world.task_def("remind", STR)
    world.task_def("say", STR)
    return world


def start(
    world: World,
    configure: Any = None,
    user_id: str | None = "ann",
    user_group: str | None = "clerks",
) -> str:
    def body(thread: WorkflowThread) -> None:
        answer = thread.add_variable("answer", JSON_OBJ)
        task = thread.assign_user_task("approve", user_id, user_group)
        if configure is not None:
            configure(thread, task)
        answer.assign(task)

    return world.run(world.put("approval", body))


def the_task(world: World, run: str) -> UserTaskRun:
    (task,) = world.user_tasks(run)
    return task


def status(world: World, run: str) -> str:
    return UserTaskRunStatus.Name(the_task(world, run).status)


def complete(world: World, run: str, user_id: str = "ann", **results: Any) -> Outcome:
    request = CompleteUserTaskRunRequest(user_task_run_id=the_task(world, run).id, user_id=user_id)
    for name, value in results.items():
        request.results[name].CopyFrom(to_variable_value(value))
    return world.at_run(run, "CompleteUserTaskRun", request)


def save(world: World, run: str, user_id: str = "ann", **results: Any) -> Outcome:
    request = SaveUserTaskRunProgressRequest(
        user_task_run_id=the_task(world, run).id, user_id=user_id
    )
    for name, value in results.items():
        request.results[name].CopyFrom(to_variable_value(value))
    return world.at_run(run, "SaveUserTaskRunProgress", request)


def assign(world: World, run: str, **to: Any) -> Outcome:
    request = AssignUserTaskRunRequest(user_task_run_id=the_task(world, run).id, **to)
    return world.at_run(run, "AssignUserTaskRun", request)


def cancel(world: World, run: str) -> Outcome:
    request = CancelUserTaskRunRequest(user_task_run_id=the_task(world, run).id)
    return world.at_run(run, "CancelUserTaskRun", request)


def history(world: World, run: str) -> list[str | None]:
    return [event.WhichOneof("event") for event in the_task(world, run).events]


def test_a_person_completes_a_task(world: World) -> None:
    run = start(world)
    assert status(world, run) == "ASSIGNED"
    assert (the_task(world, run).user_id, the_task(world, run).user_group) == ("ann", "clerks")
    done(complete(world, run, ok=True, why="fine"))
    assert status(world, run) == "DONE"
    assert world.status(run) == "COMPLETED"
    assert world.variable(run, "answer") == {"ok": True, "why": "fine"}
    assert history(world, run) == ["assigned", "completed"]


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ({"why": "x"}, "ok is required"),
        ({"ok": "yes"}, "field ok: expected BOOL"),
        ({"ok": True, "colour": "red"}, "no field colour"),
    ],
)
def test_results_that_do_not_fit_are_refused(
    world: World, results: dict[str, Any], reason: str
) -> None:
    run = start(world)
    outcome = refused(complete(world, run, **results))
    assert outcome.kind == Rejection.INVALID
    assert reason in outcome.reason
    assert status(world, run) == "ASSIGNED"


def test_what_was_saved_counts_when_it_is_completed(world: World) -> None:
    run = start(world)
    done(save(world, run, ok=False))
    assert world.status(run) == "RUNNING"
    assert refused(save(world, run, "bob", ok=True)).kind == Rejection.PRECONDITION
    done(complete(world, run, why="later"))
    assert world.variable(run, "answer") == {"ok": False, "why": "later"}
    assert history(world, run) == ["assigned", "saved", "completed"]


def test_a_group_has_a_task_until_somebody_takes_it(world: World) -> None:
    run = start(world, user_id=None)
    assert status(world, run) == "UNASSIGNED"
    done(assign(world, run, user_id="bob"))
    assert status(world, run) == "ASSIGNED"
    refusal = refused(assign(world, run, user_id="ann"))
    assert (refusal.kind, "bob's" in refusal.reason) == (Rejection.PRECONDITION, True)
    done(assign(world, run, user_id="ann", override_claim=True))
    assert the_task(world, run).user_id == "ann"
    assert refused(assign(world, run)).kind == Rejection.INVALID


def test_an_approval_by_two_people_takes_both(world: World) -> None:
    def body(thread: WorkflowThread) -> None:
        for person in ("ann", "bob"):
            thread.assign_user_task("approve", person)

    run = world.run(world.put("both", body))
    for number, person in enumerate(("ann", "bob")):
        tasks = [one for one in world.user_tasks(run) if one.user_id == person]
        assert [one.status for one in tasks] == [UserTaskRunStatus.ASSIGNED]
        assert len(world.user_tasks(run)) == number + 1
        request = CompleteUserTaskRunRequest(user_task_run_id=tasks[0].id, user_id=person)
        request.results["ok"].CopyFrom(to_variable_value(True))
        done(world.at_run(run, "CompleteUserTaskRun", request))
    assert world.status(run) == "COMPLETED"


def test_a_cancelled_task_fails_its_node(world: World) -> None:
    run = start(world)
    done(cancel(world, run))
    assert status(world, run) == "CANCELLED"
    assert world.status(run) == "ERROR"
    assert world.node(run).failures[0].failure_name == "USER_TASK_CANCELLED"
    assert refused(cancel(world, run)).kind == Rejection.PRECONDITION
    assert refused(complete(world, run, ok=True)).kind == Rejection.PRECONDITION


def test_a_cancelled_task_is_the_exception_that_its_spec_names(world: World) -> None:
    def configure(thread: WorkflowThread, task: UserTaskOutput) -> None:
        task.with_on_cancellation_exception("gave-up")

    run = start(world, configure)
    done(cancel(world, run))
    assert world.status(run) == "EXCEPTION"
    assert world.node(run).failures[0].failure_name == "gave-up"


def test_a_reminder_is_a_task_of_its_own(world: World) -> None:
    def configure(thread: WorkflowThread, task: UserTaskOutput) -> None:
        thread.schedule_reminder_task(task, 10, "remind", "please")

    run = start(world, configure)
    world.pass_time(9)
    assert world.waiting() == []
    world.pass_time(1)
    reminder = world.claim("remind")
    assert reminder.source.user_task_trigger.user_id == "ann"
    done(world.succeed(reminder))
    assert world.status(run) == "RUNNING"
    done(complete(world, run, ok=True))
    assert history(world, run) == ["assigned", "task_executed", "completed"]


def test_a_task_that_is_done_is_not_reminded_of(world: World) -> None:
    def configure(thread: WorkflowThread, task: UserTaskOutput) -> None:
        thread.schedule_reminder_task(task, 10, "remind", "please")

    run = start(world, configure)
    done(complete(world, run, ok=True))
    world.pass_time(20)
    assert world.waiting() == []
    assert world.status(run) == "COMPLETED"


def test_a_task_is_reassigned_when_its_time_is_over(world: World) -> None:
    def configure(thread: WorkflowThread, task: UserTaskOutput) -> None:
        thread.reassign_user_task_on_deadline(task, 30, user_id="boss")

    run = start(world, configure)
    world.pass_time(30)
    assert the_task(world, run).user_id == "boss"
    assert history(world, run) == ["assigned", "assigned"]


def test_a_task_goes_back_to_its_group_unless_somebody_else_has_it_by_then(world: World) -> None:
    def configure(thread: WorkflowThread, task: UserTaskOutput) -> None:
        thread.release_to_group_on_deadline(task, 30)

    run = start(world, configure)
    world.pass_time(20)
    done(assign(world, run, user_id="bob", user_group="clerks", override_claim=True))
    world.pass_time(20)
    assert the_task(world, run).user_id == "bob"
    world.pass_time(10)
    assert not the_task(world, run).HasField("user_id")
    assert the_task(world, run).user_group == "clerks"
    assert status(world, run) == "UNASSIGNED"


def test_a_task_is_cancelled_when_its_time_is_over(world: World) -> None:
    def configure(thread: WorkflowThread, task: UserTaskOutput) -> None:
        thread.cancel_user_task_run_after(task, 60)

    run = start(world, configure)
    world.pass_time(60)
    assert status(world, run) == "CANCELLED"
    assert world.status(run) == "ERROR"


def test_comments_are_added_edited_and_deleted_by_their_author(world: World) -> None:
    run = start(world)
    task_id = the_task(world, run).id

    def put(text: str) -> UserTaskEvent.UTECommented:
        request = PutUserTaskRunCommentRequest(
            user_task_run_id=task_id, user_id="ann", comment=text
        )
        answer = done(world.at_run(run, "PutUserTaskRunComment", request))
        return UserTaskEvent.UTECommented.FromString(answer)

    assert [put("one").user_comment_id, put("two").user_comment_id] == [0, 1]

    def edit(user_id: str) -> Outcome:
        request = EditUserTaskRunCommentRequest(
            user_task_run_id=task_id, user_comment_id=1, user_id=user_id, comment="second"
        )
        return world.at_run(run, "EditUserTaskRunComment", request)

    def delete(user_id: str) -> Outcome:
        request = DeleteUserTaskRunCommentRequest(
            user_task_run_id=task_id, user_comment_id=1, user_id=user_id
        )
        return world.at_run(run, "DeleteUserTaskRunComment", request)

    assert refused(edit("bob")).kind == Rejection.PRECONDITION
    done(edit("ann"))
    assert refused(delete("bob")).kind == Rejection.PRECONDITION
    done(delete("ann"))
    assert refused(edit("ann")).reason == "there is no comment 1"
    assert history(world, run) == [
        "assigned",
        "comment_added",
        "comment_added",
        "comment_edited",
        "comment_deleted",
    ]


def test_notes_are_written_for_the_person(world: World) -> None:
    def configure(thread: WorkflowThread, task: UserTaskOutput) -> None:
        task.with_notes(thread.format("for {0}", "you"))

    run = start(world, configure)
    assert the_task(world, run).notes == "for you"
