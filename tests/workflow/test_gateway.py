"""Calls find their partition; a lost answer and a definition that is on its way are waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from littlehorse.model.object_id_pb2 import ExternalEventDefId, WfRunId
from littlehorse.model.service_pb2 import (
    PutExternalEventDefRequest,
    PutExternalEventRequest,
    RunWfRequest,
    ScheduleWfRequest,
    SearchWfRunRequest,
    StopWfRunRequest,
)
from littlehorse.model.wf_run_pb2 import WfRun

from remuda.errors import CommandRejected
from tests.workflow.one_node import TENANT, OneNode, node


def played(story: Callable[[OneNode], Awaitable[None]], partitions: int = 5) -> None:
    async def play() -> None:
        async with asyncio.timeout(60), node(partitions) as found:
            await found.one_step("sweep")
            await story(found)

    asyncio.run(play())


async def refused(call: Awaitable[object]) -> CommandRejected:
    with pytest.raises(CommandRejected) as caught:
        await call
    return caught.value


def test_a_run_whose_answer_was_lost_is_answered_by_the_next_try() -> None:
    async def story(found: OneNode) -> None:
        for given in ("mine", ""):
            found.answers_lost = 1
            answer = await found.call("RunWf", RunWfRequest(wf_spec_name="sweep", id=given))
            assert WfRun.FromString(answer).wf_spec_id.name == "sweep"
        search = SearchWfRunRequest(wf_spec_name="sweep")
        hits = await found.gateway.search(TENANT, "SearchWfRun", search, None, 10)
        assert len(hits) == 2

    played(story)


def test_an_id_that_was_used_before_is_refused_even_if_an_answer_is_lost() -> None:
    async def story(found: OneNode) -> None:
        await found.run("sweep", "mine")
        await asyncio.sleep(0.01)
        found.answers_lost = 1
        again = await refused(found.run("sweep", "mine"))
        assert again.kind == "exists"

    played(story)


def test_a_schedule_whose_answer_was_lost_is_there_once() -> None:
    async def story(found: OneNode) -> None:
        found.answers_lost = 1
        request = ScheduleWfRequest(wf_spec_name="sweep", cron_expression="0 0 1 1 *")
        assert await found.call("ScheduleWf", request)

    played(story)


def test_what_was_just_defined_can_be_used_in_every_partition() -> None:
    async def story(found: OneNode) -> None:
        runs = [await found.run("sweep", f"run-{number}") for number in range(10)]
        await found.call("PutExternalEventDef", PutExternalEventDefRequest(name="knock"))
        for run in runs:
            request = PutExternalEventRequest(
                wf_run_id=WfRunId(id=run), external_event_def_id=ExternalEventDefId(name="knock")
            )
            assert await found.call("PutExternalEvent", request)

    played(story)


def test_what_is_not_there_is_named() -> None:
    async def story(found: OneNode) -> None:
        lost = await refused(found.run("lost", "x"))
        assert (lost.kind, str(lost)) == ("not found", "there is no WfSpec lost: put it first")
        stop = StopWfRunRequest(wf_run_id=WfRunId(id="nobody"))
        nobody = await refused(found.call("StopWfRun", stop))
        assert (nobody.kind, str(nobody)) == ("not found", "there is no run nobody")
        request = PutExternalEventRequest(
            wf_run_id=WfRunId(id="nobody"), external_event_def_id=ExternalEventDefId(name="lost")
        )
        event = await refused(found.call("PutExternalEvent", request))
        assert (event.kind, str(event)) == ("not found", "there is no ExternalEventDef lost")

    played(story)
