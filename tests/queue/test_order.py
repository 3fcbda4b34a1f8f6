"""What is promised about order, retries and epochs, in sentences."""

from __future__ import annotations

import pytest

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.commands.alter_group import AlterGroup
from remuda.queue.commands.create_group import CreateGroup
from remuda.queue.commands.replay import Replay, Replayed
from remuda.queue.commands.rewind import Rewind, Rewound
from remuda.queue.limits import OPEN_MAX
from remuda.queue.model import Blocks, GroupDef, RetryDef
from remuda.queue.reading import dead_letters
from tests.queue.worlds import World, expect, message


def one_group(blocks: Blocks, max_attempts: int = 3) -> World:
    world = World()
    world.create("q", 1, None, g=GroupDef(retry=RetryDef(max_attempts, blocks, 1_000, 8_000)))
    expect(world.attach("g"))
    return world


def test_messages_are_taken_in_the_order_they_were_sent() -> None:
    world = one_group("partition")
    expect(world.send(message("1"), message("2", "k")))
    expect(world.send(message("3", "k")))
    assert world.bodies("g") == ["1", "2", "3"]


def test_the_partition_waits_for_a_message_that_is_tried_again() -> None:
    world = one_group("partition")
    expect(world.send(message("1", "a"), message("2", "b"), message("3", "a")))
    expect(world.fail("g", 0))
    assert world.bodies("g") == []
    assert world.take("g").wake_ms == world.now_ms + 1_000
    world.advance(1_000)
    assert world.bodies("g") == ["1"]
    expect(world.commit("g", 0))
    assert world.bodies("g") == ["2", "3"]


def test_only_the_key_waits_if_it_is_the_key_that_blocks() -> None:
    world = one_group("key")
    expect(world.send(message("1", "a"), message("2", "b"), message("3", "a"), message("4")))
    expect(world.fail("g", 0))
    assert world.bodies("g") == ["2", "4"]
    assert expect(world.commit("g", 1, 3)).committed == 0
    world.advance(1_000)
    assert world.bodies("g") == ["1"]
    assert not expect(world.commit("g", 0)).freed
    assert world.bodies("g") == ["3"]
    assert expect(world.commit("g", 2)).freed
    assert world.stats().groups["g"].lag == 0


def test_the_partition_waits_even_for_what_was_passed_over_before_the_failure() -> None:
    world = one_group("partition")
    expect(world.send(*(message(text, text) for text in "123456")))
    expect(world.commit("g", 4))
    expect(world.fail("g", 1))
    assert world.bodies("g") == ["1"]
    expect(world.commit("g", 0))
    world.advance(1_000)
    assert world.bodies("g") == ["2"]
    expect(world.commit("g", 1))
    assert world.bodies("g") == ["3", "4", "6"]


def test_messages_without_a_key_wait_for_nobody_of_their_kind() -> None:
    world = one_group("key")
    expect(world.send(message("1"), message("2")))
    expect(world.fail("g", 0))
    assert world.bodies("g") == ["2"]
    assert expect(world.commit("g", 1)).committed == 0


@pytest.mark.parametrize("blocks", ["partition", "key"])
def test_nothing_is_committed_before_an_earlier_message_of_its_key(blocks: Blocks) -> None:
    world = one_group(blocks)
    expect(world.send(message("1", "a"), message("2", "b"), message("3", "a")))
    refused = world.commit("g", 1, 2)
    assert isinstance(refused, Rejected)
    assert world.bodies("g") == ["1", "2", "3"]
    assert expect(world.commit("g", 1)).committed == 0
    assert isinstance(world.commit("g", 2), Rejected)
    assert isinstance(world.fail("g", 2), Rejected)
    assert expect(world.commit("g", 0, 2)).committed == 3


def test_waits_grow_by_the_factor_up_to_the_most_and_jitter_takes_up_to_half() -> None:
    retry = RetryDef(first_ms=100, most_ms=1_000, factor_percent=300)
    assert [retry.wait_ms(n, 1000) for n in range(1, 6)] == [100, 300, 900, 1_000, 1_000]
    assert [retry.wait_ms(n, 0) for n in range(1, 6)] == [50, 150, 450, 500, 500]
    assert RetryDef(most_ms=10, first_ms=20).wait_ms(10**6, 1000) == 10


def test_after_the_last_attempt_a_message_is_a_dead_letter_with_its_history() -> None:
    world = one_group("partition", max_attempts=2)
    expect(world.send(message("1", "a"), message("2", "a")))
    assert expect(world.fail("g", 0, 1, error="first")).retry_ms > 0
    world.advance(1_000)
    assert expect(world.fail("g", 0, 2, error="second")).retry_ms == -1
    assert world.bodies("g") == ["2"]
    [(number, letter)] = dead_letters(world.partitions[0].view, "q", 0, "g", 0, 10)
    assert (number, letter.position, letter.message.body) == (0, 0, b"1")
    assert [one.error for one in letter.message.failures] == ["first", "second"]


def test_a_dead_letter_comes_back_at_the_end_and_only_to_the_group_that_it_is_of() -> None:
    world = one_group("partition", max_attempts=1)
    expect(world.define(CreateGroup("q", "h")))
    world.pump()
    expect(world.send(message("1"), message("2")))
    expect(world.fail("g", 0))
    answer = world.on_part(Replay("q", 0, 0, "g", (0,)), "q", 0, Replayed)
    assert expect(answer) == Replayed(1, 0)
    assert world.bodies("g") == ["2", "1"]
    assert world.bodies("h") == ["1", "2"]
    expect(world.attach("h"))
    assert expect(world.commit("h", 0, 1)).committed == 3
    last = world.take("g").taken[-1]
    assert [one.error for one in last.message.failures] == ["no"]


def test_a_group_that_is_altered_stays_where_it_is_and_goes_by_the_new_settings() -> None:
    world = one_group("partition")
    expect(world.send(message("1"), message("2"), message("3")))
    expect(world.commit("g", 0))
    expect(world.fail("g", 1))
    assert world.bodies("g") == []
    expect(world.define(AlterGroup("q", "g", RetryDef(2, "key"))))
    world.pump()
    assert world.bodies("g") == ["3"]
    assert expect(world.fail("g", 1, 2)).retry_ms == -1


def test_a_failure_that_is_told_twice_counts_once() -> None:
    world = one_group("partition")
    expect(world.send(message("1")))
    assert world.fail("g", 0, 1) == world.fail("g", 0, 1)
    assert world.stats().groups["g"].failed == 1


def test_whoever_attaches_with_a_greater_epoch_shuts_the_older_ones_out() -> None:
    world = one_group("partition")
    expect(world.send(message("1"), message("2")))
    expect(world.commit("g", 0))
    assert expect(world.attach("g", 2)).committed == 1
    for refused in (
        world.attach("g", 1),
        world.commit("g", 1, epoch=1),
        world.fail("g", 1, epoch=1),
        world.commit("g", 1, epoch=3),
    ):
        assert isinstance(refused, Rejected)
        assert refused.kind is Rejection.STALE
    assert expect(world.commit("g", 1, epoch=2)).committed == 2


def test_what_was_taken_before_a_rewind_is_not_committed_after_it() -> None:
    world = one_group("partition")
    expect(world.send(message("1"), message("2")))
    expect(world.commit("g", 0))
    rewound = world.on_part(Rewind("q", 0, 0, "g", to_position=0), "q", 0, Rewound)
    assert expect(rewound) == Rewound(0, 1)
    refused = world.commit("g", 1)
    assert isinstance(refused, Rejected)
    assert refused.kind is Rejection.STALE
    assert world.bodies("g") == ["1", "2"]
    assert expect(world.commit("g", 0, 1, turn=1)).committed == 2


def test_an_owner_is_not_given_again_what_it_holds() -> None:
    world = one_group("key")
    expect(world.send(*(message(str(n), "a") for n in range(6))))
    held = {one.position for one in world.take("g", 3).taken}
    assert held == {0, 1, 2}
    assert [one.position for one in world.take("g", 2, held=held).taken] == [3, 4]
    assert [one.position for one in world.take("g", 9, held=held, after=3).taken] == [4, 5]


def test_a_group_cannot_run_away_from_a_message_that_it_is_not_done_with() -> None:
    world = one_group("key", max_attempts=0)
    for _ in range(3):
        expect(world.send(*(message("x", "ab"[n % 2]) for n in range(OPEN_MAX // 2))))
    expect(world.fail("g", 0))
    taken = [one.position for one in world.take("g", 2 * OPEN_MAX).taken]
    assert 0 < max(taken) <= OPEN_MAX
    far = 3 * OPEN_MAX // 2 - 1
    for refused in (world.commit("g", far), world.fail("g", far)):
        assert isinstance(refused, Rejected)
        assert refused.kind is Rejection.EXHAUSTED
    assert expect(world.commit("g", *range(1, far, 2))).committed == 0
    assert world.stats().groups["g"].lag == far // 2 + 2
