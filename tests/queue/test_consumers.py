"""Workers as processes: order by key, takeover, handover, retries, dead letters, trees, the end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

import remuda
from remuda.errors import CommandRejected
from remuda.queue.group import pool_of
from remuda.queue.model import Message, NewMessage, QueueSettings
from remuda.queue.reading import GroupStats
from tests.clusters import replica_of
from tests.queue.working import Yard, duplicates, first_deliveries, yard
from tests.waiting import eventually, wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """One node for the tests that do not hurt it."""
    with yard(tmp_path_factory.mktemp("yard")) as found:
        yield found


@pytest.fixture
def here(shared: Yard, tmp_path: Path) -> Iterator[Yard]:
    """The same cluster, and a test's own workers."""
    own = Yard(shared.cluster, tmp_path)
    yield own
    own.end_workers()


def keyed(count: int, keys: int) -> list[NewMessage]:
    return [NewMessage(str(n).encode(), f"k{n % keys}") for n in range(count)]


def texts(count: int) -> set[str]:
    return {str(n) for n in range(count)}


async def filled(here: Yard, queue: str, messages: list[NewMessage], parts: int = 4) -> None:
    async with here.queues() as queues:
        await queues.create(queue, parts, QUICK)
        if messages:
            await queues.send_many(queue, messages)


QUICK = QueueSettings(retry=remuda.RetryDef(3, "key", 10, 50))


async def group_of(here: Yard, queue: str, group: str = "g") -> list[GroupStats]:
    async with here.queues() as queues:
        stats = await queues.stats(queue)
    return [part.groups[group] for part in stats.values() if group in part.groups]


def is_done(here: Yard, queue: str, count: int) -> bool:
    found = asyncio.run(group_of(here, queue))
    return sum(one.done for one in found) == count and not any(one.lag for one in found)


def test_two_workers_share_the_partitions_and_handle_every_message_in_the_order_of_its_key(
    here: Yard,
) -> None:
    asyncio.run(filled(here, "shared", keyed(400, 20)))
    for _ in range(2):
        here.start_worker("shared", "g", "--concurrency", "8", "--pause-ms", "5")
    lines = here.wait_for(texts(400))
    wait_until(lambda: is_done(here, "shared", 400), "all is committed")
    for found in first_deliveries(lines).values():
        assert found == sorted(found, key=int)
    wait_until(lambda: len(owners_of(here, "shared")) == 2, "each has some of the partitions")
    assert {line.pid for line in lines} <= {worker.pid for worker in here.workers}


def test_a_worker_that_is_killed_is_taken_over_from_and_nothing_is_lost(here: Yard) -> None:
    asyncio.run(filled(here, "killed", keyed(200, 10)))
    victim = here.start_worker("killed", "g", "--concurrency", "4", "--pause-ms", "20")
    wait_until(lambda: len(here.lines()) >= 20, "it is at work")
    victim.kill()
    here.start_worker("killed", "g", "--concurrency", "4")
    lines = here.wait_for(texts(200))
    wait_until(lambda: is_done(here, "killed", 200), "all is committed")
    for found in first_deliveries(lines).values():
        assert found == sorted(found, key=int)


def test_a_worker_that_is_told_to_stop_ends_what_it_has_begun_and_nobody_does_it_again(
    here: Yard,
) -> None:
    asyncio.run(filled(here, "leaving", keyed(100, 10)))
    leaver = here.start_worker("leaving", "g", "--concurrency", "4", "--pause-ms", "30")
    wait_until(lambda: len(here.lines()) >= 10, "it is at work")
    leaver.terminate()
    assert leaver.wait(60) == 0
    begun = len(here.lines())
    assert begun < 100
    assert is_done_with(here, "leaving") == begun
    here.start_worker("leaving", "g", "--plain", "--concurrency", "4")
    lines = here.wait_for(texts(100))
    assert duplicates(lines) == 0


def is_done_with(here: Yard, queue: str) -> int:
    return sum(one.done for one in asyncio.run(group_of(here, queue)))


def test_a_frozen_worker_that_wakes_has_lost_its_partitions_and_changes_nothing(
    here: Yard,
) -> None:
    asyncio.run(filled(here, "frozen", keyed(60, 6), parts=1))
    sleeper = here.start_worker("frozen", "g", "--concurrency", "3", "--pause-ms", "50")
    wait_until(lambda: len(here.lines()) >= 6, "it is at work")
    sleeper.send_signal(signal.SIGSTOP)
    here.start_worker("frozen", "g", "--concurrency", "3")
    lines = here.wait_for(texts(60))
    wait_until(lambda: is_done(here, "frozen", 60), "all is committed")
    sleeper.send_signal(signal.SIGCONT)
    wait_until(lambda: len(owners_of(here, "frozen", members=True)) == 2, "it is there again")
    for found in first_deliveries(lines).values():
        assert found == sorted(found, key=int)
    assert is_done(here, "frozen", 60)
    epochs = [epoch for epoch, _ in groupby(line.epoch for line in here.lines())]
    assert epochs == sorted(set(epochs)), "the old owner handled something after the new one began"


def owners_of(here: Yard, queue: str, *, members: bool = False) -> set[str]:
    pool = replica_of(here.config).pools[pool_of(queue, "g")]
    if members:
        return set(pool.members)
    return {unit.owner for unit in pool.units.values() if unit.owner is not None}


def test_what_fails_is_tried_again_and_in_the_end_is_a_dead_letter_that_says_why(
    here: Yard,
) -> None:
    asyncio.run(filled(here, "failing", keyed(3, 3), parts=1))
    here.start_worker("failing", "g", "--failing", "100")

    async def dead() -> list[Message]:
        async with here.queues() as queues:
            await queues.create_group("failing", "g")
            return [letter.message for _, letter in await queues.dead_letters("failing", "g", 0)]

    found = wait_until(
        lambda: letters if len(letters := asyncio.run(dead())) == 3 else None, "dead"
    )
    lines = here.lines()
    assert sorted((line.text, line.attempt) for line in lines) == [
        (text, attempt) for text in "012" for attempt in (1, 2, 3)
    ]
    first = min(found, key=lambda message: message.body)
    assert [failure.attempt for failure in first.failures] == [1, 2, 3]
    assert "ValueError: 0 is not to my liking (working.py:" in first.failures[0].error


# ── in this process ──────────────────────────────────────────────────────────────────────────


def run_here(here: Yard, *handlers: object) -> remuda.Worker:
    return remuda.Worker(*handlers, config=here.config)  # type: ignore[arg-type]


def test_what_a_handler_emits_is_there_once_and_a_tracked_tree_comes_to_its_end(
    here: Yard,
) -> None:
    async def scenario() -> None:
        leaves: list[str] = []

        @remuda.handler("roots", group="g", concurrency=4)
        async def split(message: remuda.Message, ctx: remuda.Context) -> None:
            for n in range(3):
                ctx.emit_json("leaves", {"of": message.text, "n": n}, key=message.text)

        @remuda.handler("leaves", group="g", concurrency=4)
        def gather(message: remuda.Message, ctx: remuda.Context) -> None:
            leaves.append(f"{message.json()['of']}.{message.json()['n']}")

        async with here.queues() as queues:
            await queues.create("roots", 2, QUICK)
            await queues.create("leaves", 3, QUICK)
            async with run_here(here, split, gather):
                trees = await asyncio.gather(
                    *(queues.send_tracked("roots", b"%d" % n) for n in range(5))
                )
        assert [tree.outcome for tree in trees] == ["done"] * 5
        assert sorted(leaves) == [f"{root}.{n}" for root in range(5) for n in range(3)]

    asyncio.run(scenario())


def test_an_emit_that_cannot_be_is_a_failure_of_the_handler(here: Yard) -> None:
    async def scenario() -> str:
        @remuda.handler("wrong-emit", group="g")
        async def handle(message: remuda.Message, ctx: remuda.Context) -> None:
            ctx.emit("no-such-queue", b"x")

        async with here.queues() as queues:
            await queues.create("wrong-emit", 1, QUICK)
            await queues.send("wrong-emit", b"x")
            async with run_here(here, handle):

                async def dead() -> str | None:
                    for _, letter in await queues.dead_letters("wrong-emit", "g", 0):
                        return letter.message.failures[-1].error
                    return None

                return await eventually(dead, "it is a dead letter")

    assert "no-such-queue" in asyncio.run(scenario())


def test_a_handler_that_gives_up_is_not_called_again(here: Yard) -> None:
    async def scenario() -> int:
        calls = 0

        @remuda.handler("give-up", group="g")
        async def handle(message: remuda.Message, ctx: remuda.Context) -> None:
            nonlocal calls
            calls += 1
            raise remuda.GiveUp("there is no such customer")

        async with here.queues() as queues:
            await queues.create("give-up", 1, QUICK)
            await queues.send("give-up", b"x")
            async with run_here(here, handle):

                async def dead() -> object:
                    return await queues.dead_letters("give-up", "g", 0)

                await eventually(dead, "it is a dead letter")
        return calls

    assert asyncio.run(scenario()) == 1


def test_a_handler_of_batches_is_given_many_and_a_bad_one_among_them_is_found(
    here: Yard,
) -> None:
    async def scenario() -> tuple[list[list[str]], list[str]]:
        batches: list[list[str]] = []

        @remuda.handler("batches", group="g", batch=10)
        async def handle(messages: list[remuda.Message], ctx: remuda.Context) -> None:
            batches.append([message.text for message in messages])
            if any(message.text == "7" for message in messages):
                raise ValueError("7 among them")

        async with here.queues() as queues:
            await queues.create("batches", 1, QUICK)
            await queues.send_many("batches", keyed(20, 20))
            async with run_here(here, handle):

                async def done() -> bool:
                    (found,) = await group_of(here, "batches")
                    return found.done + found.dead == 20 and found.dead == 1

                await eventually(done, "all is done but one")
                letters = await queues.dead_letters("batches", "g", 0)
        return batches, [letter.message.body.decode() for _, letter in letters]

    batches, letters = asyncio.run(scenario())
    assert letters == ["7"]
    assert max(map(len, batches)) == 10
    assert ["7"] in batches


def test_a_long_handler_keeps_its_message(here: Yard) -> None:
    """Longer than the session time-out, which is what others would be taken over after."""

    async def scenario() -> list[int]:
        handled: list[int] = []

        def handler_of(number: int) -> object:
            async def handle(message: remuda.Message, ctx: remuda.Context) -> None:
                handled.append(number)
                await asyncio.sleep(1.5 * here.config.session_timeout_s)

            return remuda.consume("long", handle, group="g")

        async with here.queues() as queues:
            await queues.create("long", 1, QUICK)
            await queues.send("long", b"x")
            async with run_here(here, handler_of(1)), run_here(here, handler_of(2)):

                async def done() -> bool:
                    (found,) = await group_of(here, "long")
                    return found.done == 1

                await eventually(done, "it is done")
        return handled

    assert len(asyncio.run(scenario())) == 1


def test_a_queue_that_grows_gives_its_new_partitions_to_its_workers(here: Yard) -> None:
    async def scenario() -> None:
        handled: set[int] = set()

        @remuda.handler("growing", group="g")
        async def handle(message: remuda.Message, ctx: remuda.Context) -> None:
            handled.add(message.part)

        async with here.queues() as queues:
            await queues.create("growing", 1, QUICK)
            async with run_here(here, handle) as worker:
                await queues.alter("growing", parts=3)

                async def grown() -> bool:
                    return worker.parts["growing", "g"] == [0, 1, 2]

                await eventually(grown, "it has all three")
                await queues.send_many("growing", keyed(60, 60))

                async def all_parts() -> bool:
                    return handled == {0, 1, 2}

                await eventually(all_parts, "messages of all three are handled")

    asyncio.run(scenario())


def test_after_a_rewind_a_worker_handles_again_what_it_had_handled(here: Yard) -> None:
    async def scenario() -> list[str]:
        handled: list[str] = []

        @remuda.handler("rewound", group="g")
        async def handle(message: remuda.Message, ctx: remuda.Context) -> None:
            handled.append(message.text)

        async with here.queues() as queues:
            await queues.create("rewound", 1, QUICK)
            await queues.send_many("rewound", keyed(5, 1))
            async with run_here(here, handle):

                async def once() -> bool:
                    return len(handled) == 5 and not (await group_of(here, "rewound"))[0].lag

                await eventually(once, "all is done")
                await queues.rewind("rewound", "g", to_position=2)

                async def again() -> bool:
                    return len(handled) == 8

                await eventually(again, "three are handled again")
        return handled

    assert asyncio.run(scenario()) == [*"01234", *"234"]


def test_a_rewind_while_handlers_are_at_work_voids_what_they_do(here: Yard) -> None:
    async def scenario() -> list[str]:
        handled: list[str] = []
        rewound = asyncio.Event()

        @remuda.handler("voided", group="g", concurrency=2, prefetch=2)
        async def handle(message: remuda.Message, ctx: remuda.Context) -> None:
            handled.append(message.text)
            await rewound.wait()

        async with here.queues() as queues:
            await queues.create("voided", 1, QUICK)
            await queues.send_many("voided", keyed(5, 5))
            async with run_here(here, handle):

                async def at_work() -> bool:
                    return len(handled) == 2

                await eventually(at_work, "two are at work, and there is no room for more")
                await queues.rewind("voided", "g", to_position=0)
                rewound.set()

                async def done() -> bool:
                    return not (await group_of(here, "voided"))[0].lag

                await eventually(done, "all is done")
        return handled

    assert sorted(asyncio.run(scenario())) == [*"0011234"]


def test_two_workers_that_disagree_about_their_group_are_told(here: Yard) -> None:
    async def scenario() -> None:
        async def handle(message: remuda.Message, ctx: remuda.Context) -> None: ...

        async with here.queues() as queues:
            await queues.create("agreed", 1, QUICK)
        one = remuda.consume("agreed", handle, group="g", retry=remuda.RetryDef(2))
        other = remuda.consume("agreed", handle, group="g", retry=remuda.RetryDef(3))
        async with run_here(here, one):
            with pytest.raises(CommandRejected, match="g"):
                await run_here(here, other).start()

    asyncio.run(scenario())


def test_a_worker_for_a_queue_that_is_not_there_is_told_so(here: Yard) -> None:
    async def handle(message: remuda.Message, ctx: remuda.Context) -> None: ...

    with pytest.raises(CommandRejected, match="nowhere"):
        asyncio.run(run_here(here, remuda.consume("nowhere", handle, group="g")).start())
