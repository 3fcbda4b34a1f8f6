"""Whatever is asked, the answer is a line that says what is wrong; nothing falls over."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.command import Command, encode_command
from remuda.queue.commands.alter_group import AlterGroup
from remuda.queue.commands.alter_queue import AlterQueue
from remuda.queue.commands.attach import Attach
from remuda.queue.commands.commit import Commit, Emit
from remuda.queue.commands.create_group import CreateGroup
from remuda.queue.commands.create_queue import CreateQueue
from remuda.queue.commands.define_queue import DefineQueue
from remuda.queue.commands.deliver import Deliver, Made
from remuda.queue.commands.discard import Discard
from remuda.queue.commands.drop_group import DropGroup
from remuda.queue.commands.fail import Fail
from remuda.queue.commands.on_definition import OnDefinition
from remuda.queue.commands.purge import Purge
from remuda.queue.commands.replay import Replay
from remuda.queue.commands.rewind import Rewind
from remuda.queue.commands.seal_queue import SealQueue
from remuda.queue.commands.send import Send
from remuda.queue.commands.tally import Tally
from remuda.queue.invariants import broken
from remuda.queue.limits import BATCH_MAX, GROUPS_MAX
from remuda.queue.model import (
    MIB,
    GroupDef,
    NewMessage,
    QueueDef,
    QueueSettings,
    RetryDef,
    Track,
)
from tests.queue.worlds import World, expect, message

INVALID, NOT_FOUND, EXISTS = Rejection.INVALID, Rejection.NOT_FOUND, Rejection.EXISTS
PRECONDITION, STALE = Rejection.PRECONDITION, Rejection.STALE
OUT_OF_RANGE, EXHAUSTED = Rejection.OUT_OF_RANGE, Rejection.EXHAUSTED


@pytest.fixture
def world() -> World:
    world = World()
    world.create("q", 1, QueueSettings(backlog_max=5), g=GroupDef())
    expect(world.attach("g"))
    expect(world.send(message("1", "k"), message("2", "k")))
    return world


@pytest.mark.parametrize(
    ("command", "kind", "says"),
    [
        (CreateQueue("", 1), INVALID, "no name for a queue"),
        (CreateQueue("a b", 1), INVALID, "'a b'"),
        (CreateQueue("x" * 101, 1), INVALID, "up to 100"),
        (CreateQueue("new", 0), INVALID, "is 0: it must be from 1 to 1024"),
        (CreateQueue("new", 1, QueueSettings(keep_ms=-1)), INVALID, "keep_ms is -1"),
        (CreateQueue("new", 1, QueueSettings(retry=RetryDef(-1))), INVALID, "max_attempts"),
        (CreateQueue("q", 2), EXISTS, "1 partitions: alter it"),
        (AlterQueue("nope", 2), NOT_FOUND, "no queue nope: create it"),
        (AlterQueue("q", 0), INVALID, "is 0"),
        (AlterQueue("q", 2, if_version=7), STALE, "version 2, not 7"),
        (CreateGroup("nope", "g"), NOT_FOUND, "no queue nope"),
        (CreateGroup("q", "?"), INVALID, "no name for a group"),
        (CreateGroup("q", "g", GroupDef("next")), PRECONDITION, "other settings"),
        (AlterGroup("q", "h"), NOT_FOUND, "no group h"),
        (AlterGroup("q", "g", RetryDef(first_ms=-1)), INVALID, "first_ms is -1"),
        (DropGroup("q", "h"), NOT_FOUND, "no group h"),
        (SealQueue("nope"), NOT_FOUND, "no queue nope"),
        (Send("nope", 0, 0, (message("x"),)), NOT_FOUND, "a queue nope"),
        (Send("q", 1, 0, (message("x"),)), NOT_FOUND, "no partition 1"),
        (Send("q", -1, 0, (message("x"),)), NOT_FOUND, "no partition -1"),
        (Send("q", 0, 9, (message("x"),)), STALE, "version 9"),
        (Send("q", 0, 2, ()), INVALID, "no messages"),
        (Send("q", 0, 2, (message(""),)), INVALID, "empty body"),
        (Send("q", 0, 2, (message("x" * (MIB + 1)),)), INVALID, "1048577 bytes, and 1048576"),
        (Send("q", 0, 2, (message("x", delay_ms=-1),)), INVALID, "delay_ms is -1"),
        (Send("q", 0, 2, (message("x", ttl_ms=-1),)), INVALID, "ttl_ms is -1"),
        (Send("q", 0, 2, (message("x", track_ms=-1),)), INVALID, "track_ms is -1"),
        (Send("q", 0, 2, (message("x", "k" * 1025),)), INVALID, "a key has 1025"),
        (Send("q", 0, 2, (NewMessage(b"x", dedup="i" * 257),)), INVALID, "dedup id has 257"),
        (Send("q", 0, 2, (NewMessage(b"x", headers={"h": "v" * 65536}),)), INVALID, "headers"),
        (Send("q", 0, 2, (message("x"),), "p" * 257), INVALID, "producer"),
        (Send("q", 0, 2, (message("x"),) * (BATCH_MAX + 1)), EXHAUSTED, "split it"),
        (Send("q", 0, 2, (message("x"),) * 4), EXHAUSTED, "2 messages that wait, and 5"),
        (Attach("q", 0, 2, "h", 1), NOT_FOUND, "no group h"),
        (Attach("q", 0, 2, "g", 0), STALE, "epoch 1, and 0 is older"),
        (Attach("q", 0, 2, "g", -1), INVALID, "no epoch"),
        (Commit("q", 0, 2, "g", 0, 0, ((0, 1),)), STALE, "epoch 1, not 0"),
        (Commit("q", 0, 2, "g", 1, 1, ((0, 1),)), STALE, "was rewound"),
        (Commit("q", 0, 2, "g", 1, 0, ()), INVALID, "no message"),
        (Commit("q", 0, 2, "g", 1, 0, ((1, 0),)), INVALID, "no message"),
        (Commit("q", 0, 2, "g", 1, 0, ((1, 2), (0, 2))), INVALID, "twice"),
        (Commit("q", 0, 2, "g", 1, 0, ((-1, 1),)), OUT_OF_RANGE, "no message at -1"),
        (Commit("q", 0, 2, "g", 1, 0, ((0, 3),)), OUT_OF_RANGE, "it keeps 0 to 1"),
        (Commit("q", 0, 2, "g", 1, 0, ((0, 200_000),)), INVALID, "200000 messages"),
        (Commit("q", 0, 2, "g", 1, 0, ((1, 2),)), PRECONDITION, "finish that one first"),
        (Fail("q", 0, 2, "g", 1, 0, 7, 1, "e"), OUT_OF_RANGE, "no message at 7"),
        (Fail("q", 0, 2, "g", 1, 0, 1, 1, "e"), PRECONDITION, "finish that one first"),
        (Fail("q", 0, 2, "g", 1, 0, 0, 1, "e", 1001), INVALID, "jitter_permille"),
        (Rewind("q", 0, 2, "g"), INVALID, "give one of them"),
        (Rewind("q", 0, 2, "g", 0, 0), INVALID, "give one of them"),
        (Rewind("q", 0, 2, "g", 3), OUT_OF_RANGE, "no message at 3"),
        (Rewind("q", 0, 2, "g", -1), OUT_OF_RANGE, "no message at -1"),
        (Replay("q", 0, 2, "g", (0,)), NOT_FOUND, "no dead letter 0"),
        (Replay("q", 0, 2, "g", None, 0), INVALID, "is 0"),
        (Discard("q", 0, 2, "h"), NOT_FOUND, "no group h"),
        (Purge("nope", 0, 0), NOT_FOUND, "a queue nope"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Command) else None,
)
def test_what_is_wrong_is_said_and_changes_nothing(
    world: World, command: Command, kind: Rejection, says: str
) -> None:
    before = world.partitions[0].items
    answer = world.ask(command, 0)
    assert isinstance(answer, Rejected)
    assert (answer.kind, says in answer.reason) == (kind, True), answer
    assert "\n" not in answer.reason
    assert world.partitions[0].items == before


def test_a_queue_never_shrinks(world: World) -> None:
    expect(world.define(AlterQueue("q", 3)))
    answer = world.define(AlterQueue("q", 2))
    assert isinstance(answer, Rejected)
    assert "may only grow" in answer.reason


def test_to_ask_for_what_is_there_changes_nothing(world: World) -> None:
    expect(world.define(SealQueue("q")))
    commands: list[OnDefinition] = [
        CreateQueue("q", 1, QueueSettings(backlog_max=5)),
        CreateGroup("q", "g"),
        AlterGroup("q", "g"),
        AlterQueue("q", 1),
        SealQueue("q"),
    ]
    assert [expect(world.define(command)).version for command in commands] == [3] * 5


def test_a_queue_has_so_many_groups_and_no_more(world: World) -> None:
    answers = [world.define(CreateGroup("q", f"g{n}")) for n in range(GROUPS_MAX)]
    assert [isinstance(answer, Rejected) for answer in answers] == [False] * 63 + [True]


def test_definitions_are_kept_in_one_partition() -> None:
    world = World(2)
    answer = world.ask(CreateQueue("q", 1), 1)
    assert isinstance(answer, Rejected)
    assert answer.kind is INVALID


# ── anything ─────────────────────────────────────────────────────────────────────────────────

integers = st.one_of(st.integers(-2, 5), st.integers(-(2**63), 2**64 - 1))
names = st.one_of(st.sampled_from(["q", "g", "k", ""]), st.text(max_size=5))
bodies = st.binary(max_size=3)
optional = st.one_of(st.none(), integers)
messages = st.builds(
    NewMessage,
    bodies,
    names,
    st.dictionaries(names, names, max_size=1),
    names,
    integers,
    integers,
    integers,
)
tracks = st.builds(Track, names, integers, integers, integers, integers)
retries = st.builds(
    RetryDef, integers, st.sampled_from(["partition", "key"]), integers, integers, integers
)
settings = st.builds(
    QueueSettings, integers, integers, integers, integers, retries, integers, integers, integers
)
groups = st.builds(GroupDef, st.sampled_from(["first", "next"]), st.one_of(st.none(), retries))
some = st.lists(messages, max_size=3).map(tuple)
ranges = st.lists(st.tuples(integers, integers), max_size=3).map(tuple)
emits = st.lists(
    st.builds(Emit, integers, names, integers, messages, st.booleans()), max_size=2
).map(tuple)
on_part = (names, integers, integers)
on_group = (*on_part, names)
by_owner = (*on_group, integers, integers)
commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(CreateQueue, names, integers, settings),
    st.builds(AlterQueue, names, optional, st.one_of(st.none(), settings), optional),
    st.builds(SealQueue, names),
    st.builds(CreateGroup, names, names, groups),
    st.builds(AlterGroup, names, names, st.one_of(st.none(), retries)),
    st.builds(DropGroup, names, names),
    st.builds(Send, *on_part, some, names, integers),
    st.builds(Purge, *on_part),
    st.builds(Attach, *on_group, integers),
    st.builds(Commit, *by_owner, ranges, emits),
    st.builds(Fail, *by_owner, integers, integers, names, integers, st.booleans()),
    st.builds(Rewind, *on_group, optional, optional),
    st.builds(Replay, *on_group, st.none(), integers),
    st.builds(Discard, *on_group, st.lists(integers, max_size=2).map(tuple)),
    st.builds(
        DefineQueue,
        st.builds(QueueDef, names, st.one_of(st.integers(-1, 3), st.just(2**40)), version=integers),
    ),
    st.builds(
        Deliver,
        names,
        integers,
        st.lists(st.builds(Made, messages, st.one_of(st.none(), tracks)), max_size=2).map(tuple),
    ),
    st.builds(Tally, names, integers, integers, integers, integers, integers),
)


@given(st.lists(commands, min_size=1, max_size=12))
def test_no_command_breaks_anything(asked: list[Command]) -> None:
    world = World()
    world.create("q", 1, None, g=GroupDef())
    expect(world.attach("g", 1))
    expect(world.send(message("1", "k", track_ms=5), message("2", "k")))
    for command in asked:
        try:
            data = encode_command(command)
        except (OverflowError, msgspec.EncodeError, UnicodeEncodeError):
            continue
        world.partitions[0].apply("queue", data, world.now_ms)
        assert broken(world.partitions[0].view) == []
        world.advance(3)
    world.check_replay()


@given(st.binary(max_size=60))
def test_junk_is_no_command(data: bytes) -> None:
    world = World()
    answer = world.partitions[0].apply("queue", data)
    assert isinstance(answer, Rejected)
    assert answer.kind is INVALID
