"""What a user writes: handlers, and what they are given. And where their partitions are."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import remuda
from remuda.errors import BadConfig, BadMessage
from remuda.queue.crew import told
from remuda.queue.group import addresses_of, missing_units, pool_of
from remuda.queue.model import GroupDef, NewMessage, QueueDef
from remuda.queue.placement import data_partition_of
from remuda.queue.reports import EMITS_MAX, Emitted
from remuda.replica.pool import Pool, Unit
from remuda.replica.state import PeerInfo, Replica


async def nothing(message: remuda.Message, ctx: remuda.Context) -> None: ...


def test_a_handler_can_be_called_as_the_function_that_it_is() -> None:
    @remuda.handler("orders", group="billing", concurrency=3)
    async def handle(message: remuda.Message, ctx: remuda.Context) -> None:
        ctx.emit("out", message.body, key=message.key)

    message = remuda.Message(b"x", "k", position=7)
    ctx = remuda.Context("orders", "billing", [message])
    asyncio.run(handle(message, ctx))
    assert ctx.emitted == [Emitted(7, "out", NewMessage(b"x", "k"))]
    assert (handle.queue, handle.group, handle.concurrency) == ("orders", "billing", 3)


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"batch": -1}, {"prefetch": 0}])
def test_a_handler_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadConfig, match=next(iter(wrong))):
        remuda.consume("orders", nothing, group="billing", **wrong)


def test_a_group_is_defined_by_its_handler_only_if_that_says_something_of_it() -> None:
    assert remuda.consume("q", nothing, group="g").definition is None
    retry = remuda.RetryDef(2)
    found = remuda.consume("q", nothing, group="g", retry=retry, start="next")
    assert found.definition == GroupDef("next", retry)


def test_a_worker_has_handlers_and_no_two_for_one_group() -> None:
    with pytest.raises(BadConfig, match="no handler"):
        remuda.Worker()
    one = remuda.consume("q", nothing, group="g")
    with pytest.raises(BadConfig, match="two handlers"):
        remuda.Worker(one, one)


def test_a_message_can_be_read_as_text_and_as_json() -> None:
    message = remuda.Message(b'{"n": 1}')
    assert message.text == '{"n": 1}'
    assert message.json() == {"n": 1}
    assert message.json(dict[str, float]) == {"n": 1.0}


def test_what_is_made_of_a_batch_belongs_to_the_message_that_is_named_or_to_the_last() -> None:
    first, last = remuda.Message(b"a", position=1), remuda.Message(b"b", position=2)
    ctx = remuda.Context("q", "g", [first, last])
    ctx.emit("out", b"x", of=first)
    ctx.emit_json("out", [1], tracked=False)
    assert [(emit.by, emit.message.body, emit.tracked) for emit in ctx.emitted] == [
        (1, b"x", True),
        (2, b"[1]", False),
    ]


def test_a_handler_may_not_emit_without_end() -> None:
    ctx = remuda.Context("q", "g", [remuda.Message(b"a")])
    for _ in range(EMITS_MAX):
        ctx.emit("out", b"x")
    with pytest.raises(BadMessage, match="1000"):
        ctx.emit("out", b"x")


def test_an_error_is_told_with_the_line_that_raised_it() -> None:
    def handle() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as raised:
        handle()
    text = told(raised.value)
    assert text.startswith("ValueError: no (test_handlers.py:")
    assert text.endswith(", in handle)")
    assert told(ValueError("from nowhere")) == "ValueError: from nowhere"


# ── where partitions are ─────────────────────────────────────────────────────────────────────


def test_units_are_missing_when_a_queue_has_grown() -> None:
    queue = QueueDef("q", 3)
    assert missing_units(Replica(), queue, "g") == ("0000", "0001", "0002")
    pools = {pool_of("q", "g"): Pool(units={"0000": Unit(), "0001": Unit()})}
    assert missing_units(Replica(pools=pools), queue, "g") == ("0002",)


def test_the_node_that_has_a_partition_is_asked_for_it_and_while_none_has_any_node() -> None:
    peers = {
        "a": PeerInfo("h", 1, address="a:1"),
        "b": PeerInfo("h", 2, address="b:1"),
        "worker": PeerInfo("h", 3),
    }
    home = f"{data_partition_of('q', 0, 2):04}"
    other = "0001" if home == "0000" else "0000"

    def replica(owner: str | None) -> Replica:
        units = {home: Unit(owner=owner), other: Unit(owner="a")}
        return Replica(
            peers=peers, members=("a", "b", "worker"), pools={"partitions": Pool(units=units)}
        )

    assert addresses_of(replica("b"), "q", 0) == ["b:1"]
    assert addresses_of(replica(None), "q", 0) == ["a:1", "b:1"]
    assert addresses_of(Replica(), "q", 0) == []
