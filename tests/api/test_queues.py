"""Queues through real nodes: whatever a node is asked, it finds who has it."""

# pyright: basic
# The generated stubs have no types.

from __future__ import annotations

import asyncio
import time

import grpc
import grpc.aio
import pytest

from remuda.errors import CommandRejected
from remuda.queue.client import Queues
from remuda.queue.client_sync import SyncQueues
from remuda.queue.commands.commit import Emit
from remuda.queue.model import GroupDef, NewMessage, QueueSettings, RetryDef
from remuda.queue.placement import part_of
from remuda.queue.translation import ANY_PART
from remuda.replica.state import Replica
from remuda.v1 import queues_pb2 as pb
from remuda.v1.queues_pb2_grpc import QueuesStub
from tests.api.nodes import addresses, elsewhere, refusal, taken, talk

pytestmark = pytest.mark.integration

QUICK = RetryDef(max_attempts=2, first_ms=50, most_ms=50)


def test_what_is_sent_is_taken_in_order_and_committed(replica: Replica, queue: str) -> None:
    async def say(queues: Queues) -> None:
        created = await queues.create(queue, 2)
        assert created == await queues.create(queue, 2), "the same again changes nothing"
        await queues.create_group(queue, "g")
        messages = [NewMessage(b"%d" % n, key=f"k{n % 7}") for n in range(500)]
        places = await queues.send_many(queue, messages)
        assert [place.part for place in places] == [part_of(one.key, 2) for one in messages]
        for part in range(2):
            sent = [m.body for m, p in zip(messages, places, strict=True) if p.part == part]
            async with queues.take(queue, part, "g", 1, credit=1000) as taking:
                found = await taken(taking, len(sent))
                assert found == list(enumerate(sent))
                done = await taking.commit(taking.turn, [position for position, _ in found])
                assert done.committed == len(sent)
        stats = await queues.stats(queue)
        assert sum(one.sent for one in stats.values()) == 500
        assert [one.groups["g"].lag for one in stats.values()] == [0, 0]

    talk(addresses(replica), say)


def test_a_node_that_does_not_own_a_partition_passes_everything_on(
    replica: Replica, queue: str
) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 1)
        await queues.create_group(queue, "g")
        await queues.send(queue, b"one")
        assert [message.body for _, message in await queues.peek(queue, 0)] == [b"one"]
        async with queues.take(queue, 0, "g", 1) as taking:
            assert await taken(taking, 1) == [(0, b"one")]
            await queues.send(queue, b"two")
            assert await taken(taking, 1) == [(1, b"two")]
            assert (await taking.commit(taking.turn, [0, 1])).committed == 2

    talk([elsewhere(replica, queue, 0)], say)


def test_a_message_is_pushed_as_it_comes_and_never_more_than_there_is_credit_for(
    replica: Replica, queue: str
) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 1)
        await queues.create_group(queue, "g")
        async with queues.take(queue, 0, "g", 1, credit=3) as taking:
            await queues.send_many(queue, [NewMessage(b"%d" % n) for n in range(10)])
            assert [position for position, _ in await taken(taking, 3)] == [0, 1, 2]
            await taking.commit(taking.turn, [0])
            assert not taking._come, "there is no credit"
            taking.want(2)
            assert [position for position, _ in await taken(taking, 2)] == [3, 4]
            taking.release([4])
            taking.want(1)
            assert [position for position, _ in await taken(taking, 1)] == [4]

    talk(addresses(replica), say)


def test_the_commit_of_an_older_owner_is_refused(replica: Replica, queue: str) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 1)
        await queues.create_group(queue, "g")
        await queues.send(queue, b"x")
        async with queues.take(queue, 0, "g", 5) as older:
            await taken(older, 1)
            async with queues.take(queue, 0, "g", 6) as newer:
                assert await taken(newer, 1) == [(0, b"x")]
                error = await refusal(older.commit(older.turn, [0]))
                assert error.kind == "stale"
                assert "epoch 6, not 5" in str(error)
                await newer.commit(newer.turn, [0])
        with pytest.raises(CommandRejected, match="somebody else has it now"):
            async with queues.take(queue, 0, "g", 5):
                pass

    talk(addresses(replica), say)


def test_failures_retries_dead_letters_and_what_can_be_done_with_them(
    replica: Replica, queue: str
) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 1, QueueSettings(retry=QUICK))
        await queues.create_group(queue, "g")
        await queues.send_many(queue, [NewMessage(b"bad"), NewMessage(b"worse")])
        async with queues.take(queue, 0, "g", 1) as taking:
            batches = aiter(taking)
            first = (await anext(batches)).taken[0]
            failed = await taking.fail(taking.turn, 0, first.attempt, "it broke")
            assert failed.retry_ms > 0
            taking.release([1])
            (again,) = (await anext(batches)).taken
            assert (again.position, again.attempt) == (0, 2), "the partition waits for it"
            assert (await taking.fail(taking.turn, 0, 2, "again")).retry_ms == -1
            (next_one,) = (await anext(batches)).taken
            assert next_one.position == 1
            await taking.fail(taking.turn, 1, 1, "at once", final=True)
        letters = await queues.dead_letters(queue, "g", 0)
        errors = [[one.error for one in letter.message.failures] for _, letter in letters]
        assert errors == [["it broke", "again"], ["at once"]]
        assert (await queues.replay(queue, "g", 0, [letters[0][0]])).left == 1
        assert (await queues.discard(queue, "g", 0)).left == 0
        async with queues.take(queue, 0, "g", 2) as taking:
            assert await taken(taking, 1) == [(2, b"bad")]

    talk(addresses(replica), say)


def test_rewind_purge_and_seal(replica: Replica, queue: str) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 1)
        await queues.create_group(queue, "g")
        await queues.send_many(queue, [NewMessage(b"%d" % n) for n in range(5)])
        async with queues.take(queue, 0, "g", 1) as taking:
            batches = aiter(taking)
            await anext(batches)
            before = taking.turn
            await taking.commit(before, [0, 1])
            assert await queues.rewind(queue, "g", to_position=1) == {0: 1}
            news = await anext(batches)
            assert news.turn > before
            assert (await refusal(taking.commit(before, [2]))).kind == "stale"
            found = await taken(taking, 4)
            assert [position for position, _ in found] == [1, 2, 3, 4]
            assert await queues.purge(queue) == 5
            assert (await queues.seal(queue)).sealed
            while not (news := await anext(batches)).ended:
                assert not news.taken
        assert (await refusal(queues.send(queue, b"late"))).kind == "precondition"

    talk(addresses(replica), say)


def test_what_a_handler_makes_goes_with_its_commit_to_where_it_belongs(
    replica: Replica, queue: str
) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 1)
        await queues.create(f"{queue}-next", 4, QueueSettings(body_bytes_max=10))
        await queues.create_group(queue, "g")
        await queues.create_group(f"{queue}-next", "h")
        sent = asyncio.create_task(queues.send_tracked(queue, b"root", timeout_s=60))
        async with queues.take(queue, 0, "g", 1) as taking:
            await taken(taking, 1)
            large = Emit(0, f"{queue}-next", ANY_PART, NewMessage(b"x" * 11))
            assert "11 bytes" in str(await refusal(taking.commit(taking.turn, [0], [large])))
            made = Emit(0, f"{queue}-next", ANY_PART, NewMessage(b"leaf", key="k"))
            await taking.commit(taking.turn, [0], [made])
        assert not sent.done()
        async with queues.take(f"{queue}-next", part_of("k", 4), "h", 1) as taking:
            assert await taken(taking, 1) == [(0, b"leaf")]
            await taking.commit(taking.turn, [0])
        assert (await sent).outcome == "done"

    talk(addresses(replica), say)


def test_a_sender_that_knows_an_old_number_of_partitions_sends_to_where_keys_belong_now(
    replica: Replica, queue: str
) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 1)
        await queues.send(queue, b"x", key="k")
        keys = [f"k{n}" for n in range(50)]
        messages = [NewMessage(b"x", key=key) for key in keys]
        async with Queues(*addresses(replica)) as others:
            await others.alter(queue, parts=8)
            # When a partition has taken this, it knows of the others.
            await others.send_many(queue, messages)
        places = await queues.send_many(queue, messages)
        assert [place.part for place in places] == [part_of(key, 8) for key in keys]

    talk(addresses(replica), say)


def test_a_batch_that_is_sent_again_under_its_number_is_there_once(
    replica: Replica, queue: str
) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 3)
        stub = QueuesStub(await queues._line.channel())
        messages = [pb.NewMessage(body=b"%d" % n, key=f"k{n % 5}" * (n % 2)) for n in range(20)]
        numbered = pb.SendRequest(queue=queue, messages=messages, producer="p", sequence=1)
        first = await stub.Send(numbered)
        assert await stub.Send(numbered) == first
        for n, part in enumerate(first.parts):
            assert not n % 2 or part == part_of(f"k{n % 5}", 3), "a key is where it belongs"
        assert sum(one.sent for one in (await queues.stats(queue)).values()) == 20
        later = pb.SendRequest(queue=queue, messages=messages, producer="p", sequence=0)
        with pytest.raises(grpc.aio.AioRpcError, match="number on from there"):
            await stub.Send(later)

    talk(addresses(replica), say)


def test_one_senders_mistake_is_not_anothers(replica: Replica, queue: str) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 1)
        bodies = (b"first", b"", b"last")
        outcomes = await asyncio.gather(
            *(queues.send(queue, body) for body in bodies), return_exceptions=True
        )
        assert "empty body" in str(outcomes[1])
        assert [type(one).__name__ for one in outcomes] == ["Place", "CommandRejected", "Place"]

    talk(addresses(replica), say)


def test_a_delayed_message_comes_when_its_time_has_come(replica: Replica, queue: str) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 1)
        await queues.create_group(queue, "g")
        async with queues.take(queue, 0, "g", 1) as taking:
            sent_at = time.monotonic()
            assert (await queues.send(queue, b"later", delay_ms=300)).position == -1
            assert await taken(taking, 1) == [(0, b"later")]
            assert time.monotonic() - sent_at >= 0.3

    talk(addresses(replica), say)


def test_what_cannot_be_is_refused_with_a_kind_and_a_reason(replica: Replica, queue: str) -> None:
    async def say(queues: Queues) -> None:
        await queues.create(queue, 2, QueueSettings(body_bytes_max=100))
        await queues.create_group(queue, "g", GroupDef(retry=QUICK))
        for call, kind, reason in (
            (queues.send("nowhere", b"x"), "not found", "no queue nowhere"),
            (queues.get(""), "not found", "no queue"),
            (queues.send(queue, b""), "invalid", "empty body"),
            (queues.send(queue, b"x" * 101), "invalid", "101 bytes, and 100 are allowed"),
            (queues.send(queue, b"x", delay_ms=-1), "invalid", "delay_ms is -1"),
            (queues.create("no/name", 1), "invalid", "is no name for a queue"),
            (queues.create(queue, 3), "exists", "alter it"),
            (queues.create(f"{queue}-x", 0), "invalid", "number of partitions is 0"),
            (queues.alter(queue, parts=1), "precondition", "may only grow"),
            (queues.create_group(queue, "g"), "precondition", "other settings"),
            (queues.peek(queue, 2), "not found", "it has 0 to 1"),
            (queues.peek(queue, -1), "not found", "it has 0 to 1"),
            (queues.peek(queue, 0, -5), "invalid", "start is -5"),
            (queues.peek(queue, 0, 0, 100_000), "invalid", "a page of 100000"),
            (queues.rewind(queue, "g", to_position=9), "out of range", "no message at 9"),
            (queues.rewind(queue, "g"), "invalid", "give one of them"),
            (queues.rewind(queue, "h", to_position=0), "not found", "no group h"),
            (queues.dead_letters(queue, "h", 0), "not found", "no group h"),
            (queues.replay(queue, "g", 0, [7]), "not found", "no dead letter 7"),
            (queues.drop_group(queue, "h"), "not found", "no group h"),
        ):
            error = await refusal(call)
            assert (error.kind, reason in str(error)) == (kind, True), str(error)

    talk(addresses(replica), say)


def test_a_program_without_an_event_loop(replica: Replica, queue: str) -> None:
    with SyncQueues(*addresses(replica)) as queues:
        queues.create(queue, 1)
        assert queues.send(queue, b"x").position == 0
        assert [message.body for _, message in queues.peek(queue, 0)] == [b"x"]
        assert queue in [one.name for one in queues.list()]
        assert queues.stats(queue)[0].depth == 1
        with pytest.raises(CommandRejected, match="no queue none"):
            queues.get("none")
