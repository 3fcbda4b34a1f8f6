"""Queues on the wire and back are what they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remuda.queue.commands.commit import Emit
from remuda.queue.model import (
    DeadLetter,
    Failure,
    GroupDef,
    Message,
    NewMessage,
    QueueDef,
    QueueSettings,
    RetryDef,
    Track,
)
from remuda.queue.reading import GroupStats, PartStats
from remuda.queue.takeable import Takeable, Taken
from remuda.queue.translation import (
    ANY_PART,
    batch_from_wire,
    batch_to_wire,
    dead_letter_from_wire,
    dead_letter_to_wire,
    emit_from_wire,
    emit_to_wire,
    message_from_wire,
    message_to_wire,
    new_message_from_wire,
    new_message_to_wire,
    part_stats_from_wire,
    part_stats_to_wire,
    queue_from_wire,
    queue_to_wire,
    settings_from_wire,
)
from remuda.v1 import queues_pb2 as pb

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBER = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(0, 2**31 - 1)
HEADERS = st.dictionaries(TEXT, TEXT, max_size=3)
RETRIES = st.builds(
    RetryDef,
    NUMBER,
    st.sampled_from(["partition", "key"]),
    NUMBER,
    NUMBER,
    NUMBER,
    st.booleans(),
)
SETTINGS = st.builds(
    QueueSettings,
    **{name: NUMBER for name in QueueSettings.__struct_fields__ if name != "retry"},
    retry=RETRIES,
)
GROUPS = st.builds(GroupDef, st.sampled_from(["first", "next"]), st.none() | RETRIES)
QUEUES = st.builds(
    QueueDef,
    TEXT,
    SMALL,
    SETTINGS,
    st.dictionaries(TEXT, GROUPS, max_size=3),
    NUMBER,
    NUMBER,
    st.booleans(),
)
NEW_MESSAGES = st.builds(NewMessage, st.binary(), TEXT, HEADERS, TEXT, NUMBER, NUMBER, NUMBER)
FAILURES = st.builds(Failure, NUMBER, SMALL, TEXT)
MESSAGES = st.builds(
    Message,
    NUMBER,
    st.binary(),
    TEXT,
    HEADERS,
    TEXT,
    NUMBER,
    st.none(),
    TEXT,
    st.lists(FAILURES, max_size=3).map(tuple),
)
TAKEN = st.builds(Taken, NUMBER, SMALL, MESSAGES)
EMITS = st.builds(Emit, NUMBER, TEXT, st.just(ANY_PART) | SMALL, NEW_MESSAGES, st.booleans())
GROUP_STATS = st.builds(
    GroupStats,
    **{name: NUMBER for name in GroupStats.__struct_fields__ if name != "ended"},
    ended=st.booleans(),
)
PART_STATS = st.builds(
    PartStats,
    **{name: NUMBER for name in PartStats.__struct_fields__ if name != "groups"},
    groups=st.dictionaries(TEXT, GROUP_STATS, max_size=2),
)


@given(QUEUES)
def test_a_definition(queue: QueueDef) -> None:
    assert queue_from_wire(queue_to_wire(queue)) == queue


def test_settings_that_are_not_given_have_their_defaults() -> None:
    assert settings_from_wire(pb.Settings()) == QueueSettings()
    assert settings_from_wire(pb.Settings(keep_count=0)) == QueueSettings(keep_count=0)


@given(NEW_MESSAGES)
def test_a_message_to_be_sent(message: NewMessage) -> None:
    assert new_message_from_wire(new_message_to_wire(message)) == message


@given(MESSAGES)
def test_a_message_that_is_kept(message: Message) -> None:
    assert message_from_wire(message_to_wire(message)) == message


@given(MESSAGES)
def test_of_its_tree_a_message_tells_only_that_it_is_in_one(message: Message) -> None:
    in_a_tree = replace(message, track=Track("q", 3, 4, 5, 6))
    assert message_from_wire(message_to_wire(in_a_tree)).track == Track("", 0, 0, 0, 0)


@given(NUMBER, st.builds(DeadLetter, NUMBER, NUMBER, MESSAGES))
def test_a_dead_letter(number: int, letter: DeadLetter) -> None:
    assert dead_letter_from_wire(dead_letter_to_wire(number, letter)) == (number, letter)


@given(st.lists(TAKEN, max_size=3), NUMBER, st.booleans())
def test_a_batch(taken: list[Taken], turn: int, ended: bool) -> None:
    batch = Takeable(tuple(taken), turn, ended=ended)
    assert batch_from_wire(batch_to_wire(batch)) == batch


@given(EMITS)
def test_what_a_handler_makes(emit: Emit) -> None:
    assert emit_from_wire(emit_to_wire(emit)) == emit


@given(PART_STATS)
def test_statistics(stats: PartStats) -> None:
    assert part_stats_from_wire(part_stats_to_wire(stats)) == stats
