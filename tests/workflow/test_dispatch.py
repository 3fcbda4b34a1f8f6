"""Tasks meet polls: in order, once each, and nothing is lost when one of them goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from littlehorse.model.object_id_pb2 import WfRunId
from littlehorse.model.service_pb2 import StopWfRunRequest

from remuda.workflow.dispatch import Claim, Dispatch, Sort
from remuda.workflow.placement import partition_of_run
from tests.workflow.one_node import TENANT, OneNode, node

SWEEP = Sort(TENANT, "sweep")


def played(story: Callable[[OneNode], Awaitable[None]]) -> None:
    async def play() -> None:
        async with asyncio.timeout(60), node() as found:
            await found.one_step("sweep")
            await story(found)

    asyncio.run(play())


def polling(found: OneNode, worker: str = "ann") -> asyncio.Task[Claim | None]:
    asked: Coroutine[Any, Any, Claim | None] = found.dispatch.claim(SWEEP, worker, "")
    return asyncio.create_task(asked)


def run_of(claim: Claim | None) -> str:
    assert claim is not None
    return claim.task.task_run_id.wf_run_id.id


def home_of(found: OneNode, run: str) -> int:
    return partition_of_run(TENANT, WfRunId(id=run), found.partitions)


def test_a_task_that_waits_is_given_to_the_next_poll() -> None:
    async def story(found: OneNode) -> None:
        await found.run("sweep", "one")
        assert run_of(await polling(found)) == "one"

    played(story)


def test_a_poll_that_waits_is_given_the_next_task() -> None:
    async def story(found: OneNode) -> None:
        first, second = polling(found), polling(found)
        await asyncio.sleep(0)
        await found.run("sweep", "one")
        assert run_of(await first) == "one"
        await found.run("sweep", "two")
        assert run_of(await second) == "two"

    played(story)


def test_a_task_of_a_stopped_run_is_passed_over() -> None:
    async def story(found: OneNode) -> None:
        await found.run("sweep", "stopped")
        stop = StopWfRunRequest(wf_run_id=WfRunId(id="stopped"))
        await found.call("StopWfRun", stop)
        await found.run("sweep", "other")
        assert run_of(await polling(found)) == "other"

    played(story)


def test_a_poll_that_is_withdrawn_leaves_the_task_to_others() -> None:
    async def story(found: OneNode) -> None:
        gone, other = polling(found), polling(found, "bob")
        await asyncio.sleep(0)
        gone.cancel()
        await found.run("sweep", "one")
        assert run_of(await other) == "one"

    played(story)


@pytest.mark.parametrize("steps", range(12))
def test_a_poll_that_goes_away_at_any_step_of_its_claim_leaves_the_attempt_to_others(
    steps: int,
) -> None:
    async def story(found: OneNode) -> None:
        await found.run("sweep", "one")
        gone = polling(found)
        for _ in range(steps):
            await asyncio.sleep(0)
        if gone.cancel():
            again = await polling(found, "bob")
        else:
            again = await gone
        assert run_of(again) == "one"
        assert again is not None
        assert again.task.attempt_number == 0
        await found.report(again.task)

    played(story)


def test_a_claim_that_its_worker_never_heard_of_is_undone_on_request() -> None:
    async def story(found: OneNode) -> None:
        await found.run("sweep", "one")
        claim = await polling(found)
        assert claim is not None
        found.dispatch.undo(claim)
        assert run_of(await polling(found, "bob")) == "one"

    played(story)


def test_what_waits_in_a_partition_goes_with_it_and_comes_back_with_it() -> None:
    async def story(found: OneNode) -> None:
        await found.run("sweep", "one")
        home = home_of(found, "one")
        await found.close(home)
        poll = polling(found)
        await asyncio.sleep(0.01)
        assert not poll.done()
        found.open(home, 2)
        claim = await poll
        assert run_of(claim) == "one"
        assert claim is not None
        await found.report(claim.task)

    played(story)


def test_no_task_is_given_to_two_of_many_polls() -> None:
    async def story(found: OneNode) -> None:
        polls = [polling(found, f"worker-{number}") for number in range(20)]
        for number in range(40):
            await found.run("sweep", f"run-{number}")
        polls += [polling(found, f"worker-{number}") for number in range(20, 40)]
        claims = await asyncio.gather(*polls)
        assert sorted(map(run_of, claims)) == sorted(f"run-{number}" for number in range(40))

    played(story)


# ── between nodes ────────────────────────────────────────────────────────────────────────────


def test_what_nobody_asks_for_here_is_told_to_other_nodes() -> None:
    async def story(found: OneNode) -> None:
        await found.run("sweep", "one")
        assert len(found.told) == 1
        with found.dispatch.asking(SWEEP):
            await found.run("sweep", "two")
        assert len(found.told) == 1

    played(story)


def test_what_waits_at_another_node_is_claimed_there_by_polls_of_this_one() -> None:
    async def story(found: OneNode) -> None:
        other = Dispatch(found, lambda note: None)
        with other.asking(SWEEP):
            poll = asyncio.create_task(other.claim(SWEEP, "bob", ""))
            await found.run("sweep", "one")
            other.hear(found.told[0])
            assert run_of(await poll) == "one"
            await found.run("sweep", "two")
            assert run_of(await polling(found)) == "two", "the first is passed over here"

    played(story)


def test_what_waits_elsewhere_is_not_kept_where_nobody_asks_for_it() -> None:
    async def story(found: OneNode) -> None:
        await found.run("sweep", "one")
        other = Dispatch(found, lambda note: None)
        other.hear(found.told[0])
        with other.asking(SWEEP):
            poll = asyncio.create_task(other.claim(SWEEP, "bob", ""))
            await asyncio.sleep(0.01)
            assert not poll.done()
            poll.cancel()

    played(story)
