"""Calls on user tasks."""

# pyright: basic
# The requests are of many types, and have the fields that their messages say.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message

from remuda.api.littlehorse.handlers import Asked, Desk, Handler, found, put
from remuda.api.littlehorse.listing import parts_of_a_run, searched
from remuda.workflow.data.values import run_id_text
from remuda.workflow.keys import place, user_task_key


async def _user_task_run(desk: Desk, asked: Asked, request: Any) -> Message:
    run = request.wf_run_id
    key = user_task_key(place(asked.tenant, run), request.user_task_guid)
    data = await desk.gateway.stored(desk.gateway.home_of_run(asked.tenant, run), key)
    return found(data, asked, f"user task {request.user_task_guid} of run {run_id_text(run)}")


HANDLERS: Mapping[str, Handler] = {
    "GetUserTaskRun": _user_task_run,
    "ListUserTaskRuns": parts_of_a_run("user-task"),
    "SearchUserTaskRun": searched,
    "AssignUserTaskRun": put,
    "CompleteUserTaskRun": put,
    "CancelUserTaskRun": put,
    "SaveUserTaskRunProgress": put,
    "PutUserTaskRunComment": put,
    "EditUserTaskRunComment": put,
    "DeleteUserTaskRunComment": put,
}
