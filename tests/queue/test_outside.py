"""Clients that are not in the cluster, and consume through a node."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from remuda.errors import CommandRejected
from remuda.queue.client import Queues
from remuda.queue.group import pool_of
from remuda.queue.model import NewMessage, QueueSettings, RetryDef
from tests.clusters import replica_of
from tests.queue.working import Yard, yard
from tests.waiting import eventually, wait_until

pytestmark = pytest.mark.integration

QUICK = QueueSettings(retry=RetryDef(3, "key", 10, 50))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with yard(tmp_path_factory.mktemp("yard")) as found:
        yield found


def scenario(here: Yard, play: Callable[[Queues], Awaitable[None]]) -> None:
    """As a client that knows the address of a node, and nothing of ZooKeeper."""

    def addresses() -> list[str]:
        return [info.address for info in replica_of(here.config).peers.values() if info.address]

    nodes = wait_until(addresses, "there is a node")

    async def run() -> None:
        async with Queues(*nodes, timeout_s=60) as queues:
            await play(queues)

    asyncio.run(run())


async def lag(queues: Queues, queue: str) -> int:
    return sum(part.groups["g"].lag for part in (await queues.stats(queue)).values())


def test_what_is_consumed_through_a_node_comes_in_the_order_of_keys_until_the_end(
    here: Yard,
) -> None:
    async def play(queues: Queues) -> None:
        await queues.create("through", 3, QUICK)
        await queues.create("out", 1, QUICK)
        messages = [NewMessage(b"%d" % n, f"k{n % 4}") for n in range(60)]
        await queues.send_many("through", messages)
        await queues.seal("through")
        texts: dict[str, list[str]] = {}
        async with queues.consume("through", "g", credit=10) as consumer:
            async for delivery in consumer:
                texts.setdefault(delivery.message.key, []).append(delivery.message.text)
                made = NewMessage(delivery.message.body)
                await consumer.done(delivery, emits=[("out", made)])
        assert texts == {f"k{k}": [str(n) for n in range(k, 60, 4)] for k in range(4)}
        assert sum(part.sent for part in (await queues.stats("out")).values()) == 60

    scenario(here, play)


def test_a_failure_is_tried_again_and_a_final_one_is_not(here: Yard) -> None:
    async def play(queues: Queues) -> None:
        await queues.create("undone", 1, QUICK)
        await queues.send_many("undone", [NewMessage(b"again", "a"), NewMessage(b"never", "b")])
        attempts: list[tuple[str, int]] = []
        async with queues.consume("undone", "g") as consumer:
            async for delivery in consumer:
                text, attempt = delivery.message.text, delivery.message.attempt
                attempts.append((text, attempt))
                if text == "never":
                    await consumer.failed(delivery, "no such thing", final=True)
                elif attempt == 1:
                    await consumer.failed(delivery, "not yet")
                else:
                    await consumer.done(delivery)
                if len(attempts) == 3:
                    break
        assert sorted(attempts) == [("again", 1), ("again", 2), ("never", 1)]
        ((_, letter),) = await queues.dead_letters("undone", "g", 0)
        assert "no such thing" in letter.message.failures[0].error

    scenario(here, play)


def test_when_a_client_goes_what_it_had_goes_to_the_next_and_counts_as_no_attempt(
    here: Yard,
) -> None:
    async def play(queues: Queues) -> None:
        await queues.create("gone", 2, QUICK)
        await queues.send_many("gone", [NewMessage(b"%d" % n, f"k{n}") for n in range(10)])
        async with queues.consume("gone", "g", credit=4) as first:
            async for delivery in first:
                await first.done(delivery)
                break
        taken: list[str] = []
        async with queues.consume("gone", "g") as second:
            async for delivery in second:
                taken.append(delivery.message.text)
                assert delivery.message.attempt == 1
                await second.done(delivery)
                if len(taken) == 9:
                    break
        assert await lag(queues, "gone") == 0

    scenario(here, play)
    wait_until(
        lambda: not replica_of(here.config).pools[pool_of("gone", "g")].members,
        "the node has left the group for its clients",
    )


def test_what_is_told_twice_or_was_never_delivered_is_refused(here: Yard) -> None:
    async def play(queues: Queues) -> None:
        await queues.create("twice", 1, QUICK)
        await queues.send("twice", b"x")
        async with queues.consume("twice", "g") as consumer:
            async for delivery in consumer:
                await consumer.done(delivery)
                with pytest.raises(CommandRejected, match="no deliveries"):
                    await consumer.done(delivery)
                break

        async def done() -> bool:
            return await lag(queues, "twice") == 0

        await eventually(done, "it is done all the same")

    scenario(here, play)


def test_a_queue_that_is_not_there_cannot_be_consumed(here: Yard) -> None:
    async def play(queues: Queues) -> None:
        with pytest.raises(CommandRejected, match="nowhere"):
            async with queues.consume("nowhere", "g"):
                pass

    scenario(here, play)
