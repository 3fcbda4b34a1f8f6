"""What becomes of messages in time: ids, delays, expiry, retention, seals, growth."""

from __future__ import annotations

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.commands.alter_queue import AlterQueue
from remuda.queue.commands.attach import Attach
from remuda.queue.commands.create_group import CreateGroup
from remuda.queue.commands.create_queue import CreateQueue
from remuda.queue.commands.purge import Purge, Purged
from remuda.queue.commands.rewind import Rewind, Rewound
from remuda.queue.commands.seal_queue import SealQueue
from remuda.queue.commands.send import Send, Sent
from remuda.queue.model import GroupDef, NewMessage, QueueSettings
from remuda.queue.placement import data_partition_of, part_of
from remuda.queue.reading import peek
from tests.queue.worlds import World, expect, message


def one_queue(settings: QueueSettings | None = None, *groups: str) -> World:
    world = World()
    world.create("q", 1, settings, **{group: GroupDef() for group in groups})
    for group in groups:
        expect(world.attach(group))
    return world


# ── once ─────────────────────────────────────────────────────────────────────────────────────


def test_an_id_is_taken_once_within_the_window() -> None:
    world = one_queue(QueueSettings(dedup_ms=1_000))
    first = expect(world.send(NewMessage(b"x", dedup="1"), NewMessage(b"y", dedup="1")))
    assert (first.positions, first.duplicates) == ((0, 0), 1)
    world.advance(999)
    assert expect(world.send(NewMessage(b"x", dedup="1"))).positions == (0,)
    world.advance(1)
    assert expect(world.send(NewMessage(b"x", dedup="1"))).positions == (1,)


def test_the_window_has_room_for_so_many_ids() -> None:
    world = one_queue(QueueSettings(dedup_count=2))
    for dedup in "123":
        expect(world.send(NewMessage(b"x", dedup=dedup)))
    assert expect(world.send(NewMessage(b"x", dedup="2"))).duplicates == 1
    assert expect(world.send(NewMessage(b"x", dedup="1"))).duplicates == 0


def test_a_batch_that_a_producer_sends_again_adds_nothing_and_is_answered_as_before() -> None:
    world = one_queue()

    def batch(sequence: int, *texts: str) -> Sent | Rejected:
        messages = tuple(message(text) for text in texts)
        command = Send("q", 0, 1, messages, "p", sequence)
        return world.on_part(command, "q", 0, Sent)

    first = expect(batch(1, "a", "b"))
    second = expect(batch(5, "c"))
    assert batch(5, "c") == second
    assert (first.positions, second.positions) == ((0, 1), (2,))
    refused = batch(4, "d")
    assert isinstance(refused, Rejected)
    assert refused.kind is Rejection.STALE
    world.advance(2 * QueueSettings().producer_keep_ms)
    assert expect(batch(1, "e")).positions == (3,)


# ── later ────────────────────────────────────────────────────────────────────────────────────


def test_a_delayed_message_has_its_place_when_its_time_has_come() -> None:
    world = one_queue(None, "g")
    sent = expect(world.send(message("late", "k", delay_ms=100), message("soon", "k")))
    assert sent.positions == (-1, 0)
    assert world.stats().delayed == 1
    assert expect(world.commit("g", 0)).committed == 1
    world.advance(99)
    assert world.bodies("g") == []
    world.advance(1)
    assert world.bodies("g") == ["late"]
    assert world.stats().delayed == 0


def test_delayed_messages_come_in_the_order_of_their_times() -> None:
    world = one_queue(None, "g")
    delays = [300, 100, 200, 100]
    expect(world.send(*(message(f"{n}:{ms}", delay_ms=ms) for n, ms in enumerate(delays))))
    world.advance(1_000)
    assert world.bodies("g") == ["1:100", "3:100", "2:200", "0:300"]


def test_more_delays_end_at_once_than_one_tick_sees_to() -> None:
    world = one_queue(None, "g")
    expect(world.send(*(message(str(n), delay_ms=5) for n in range(2_500))))
    world.advance(5)
    assert world.bodies("g")[:3] == ["0", "1", "2"]
    assert world.stats().groups["g"].lag == 2_500


def test_what_has_expired_is_done_and_counted() -> None:
    world = one_queue(None, "g", "h")
    expect(world.send(message("1", "k", ttl_ms=50), message("2", "k")))
    expect(world.commit("h", 0))
    world.now_ms += 50
    assert world.bodies("g") == []
    world.tick()
    assert world.bodies("g") == ["2"]
    stats = world.stats()
    assert (stats.groups["g"].expired, stats.groups["h"].expired) == (1, 0)
    assert expect(world.commit("g", 0)).committed == 1
    assert expect(world.commit("g", 1)).committed == 2


def test_a_message_expires_though_a_later_one_comes_in_between_that_expires_after_it() -> None:
    world = one_queue(None, "g")
    expect(world.send(message("1", ttl_ms=200), message("2", ttl_ms=300, delay_ms=100)))
    for _ in range(2):
        world.advance(100)
    assert world.bodies("g") == ["2"]


def test_a_message_lives_as_long_as_its_queue_says_unless_it_says_so_itself() -> None:
    world = one_queue(QueueSettings(ttl_ms=100), "g")
    expect(world.send(message("queue's"), message("own", ttl_ms=200)))
    world.advance(100)
    assert world.bodies("g") == ["own"]


def test_a_key_is_free_when_the_message_that_blocks_it_has_expired() -> None:
    world = one_queue(None, "g")
    expect(world.send(message("1", "k", ttl_ms=50), message("2", "k"), message("3", "o")))
    expect(world.commit("g", 2))
    expect(world.fail("g", 0))
    world.advance(50)
    assert world.bodies("g") == ["2"]


# ── history ──────────────────────────────────────────────────────────────────────────────────


def rewind(world: World, **to: int) -> Rewound | Rejected:
    return world.on_part(Rewind("q", 0, 0, "g", **to), "q", 0, Rewound)


def test_what_a_group_is_not_done_with_is_kept_however_old() -> None:
    world = one_queue(QueueSettings(keep_count=0, keep_ms=10), "g", "h")
    expect(world.send(message("1"), message("2")))
    expect(world.commit("g", 0, 1))
    expect(world.commit("h", 0))
    world.advance(10_000)
    assert [at for at, _ in peek(world.partitions[0].view, "q", 0, 0, 10)] == [1]
    assert world.bodies("h") == ["2"]


def test_a_rewind_to_what_is_not_kept_any_more_is_refused() -> None:
    world = one_queue(QueueSettings(keep_count=2), "g")
    start_ms = world.now_ms
    for n in range(5):
        expect(world.send(message(str(n))))
        world.advance(10)
    expect(world.commit("g", *range(5)))
    for refused in (rewind(world, to_position=2), rewind(world, to_ms=start_ms + 20)):
        assert isinstance(refused, Rejected)
        assert refused.kind is Rejection.OUT_OF_RANGE
        assert "begins at position 3" in refused.reason
    assert expect(rewind(world, to_ms=start_ms + 21)).position == 3
    assert world.bodies("g") == ["3", "4"]
    assert expect(rewind(world, to_ms=start_ms + 35)).position == 4
    assert expect(rewind(world, to_ms=start_ms + 999)).position == 5


def test_what_has_expired_stays_expired_after_a_rewind() -> None:
    world = one_queue(None, "g")
    expect(world.send(message("1"), message("2", ttl_ms=10), message("3")))
    expect(world.commit("g", 0, 1, 2))
    world.advance(10)
    expect(rewind(world, to_position=0))
    assert world.bodies("g") == ["1", "3"]
    assert world.stats().groups["g"].lag == 2
    assert expect(world.commit("g", 0, turn=1)).committed == 2


def test_a_purge_takes_what_waits_and_what_is_delayed() -> None:
    world = one_queue(None, "g")
    expect(world.send(message("1"), message("2", delay_ms=10)))
    assert expect(world.on_part(Purge("q", 0, 0), "q", 0, Purged)) == Purged(2)
    expect(world.send(message("3", delay_ms=10)))
    world.advance(10)
    assert world.bodies("g") == ["3"]
    assert world.stats().kept == 1


def test_what_was_purged_does_not_expire() -> None:
    world = one_queue(None, "g")
    expect(world.send(message("1", ttl_ms=10)))
    expect(world.on_part(Purge("q", 0, 0), "q", 0, Purged))
    world.advance(10)
    stats = world.stats()
    assert (stats.purged, stats.expired, stats.groups["g"].expired) == (1, 0, 0)


# ── seals and growth ─────────────────────────────────────────────────────────────────────────


def test_the_end_of_a_sealed_queue_is_reached_when_all_before_it_is_done() -> None:
    world = one_queue(None, "g")
    expect(world.send(message("1"), message("2", delay_ms=10)))
    expect(world.define(SealQueue("q")))
    world.pump()
    refused = world.send(message("3"))
    assert isinstance(refused, Rejected)
    assert "sealed" in refused.reason
    assert not expect(world.commit("g", 0)).ended
    world.advance(10)
    assert not world.take("g").ended
    assert expect(world.commit("g", 1)).ended
    assert world.take("g").ended


def test_a_key_stays_or_goes_to_a_new_partition_when_a_queue_grows() -> None:
    keys = [f"key-{n}" for n in range(2_000)]
    for before, after in ((1, 2), (4, 6), (8, 9)):
        moved = [key for key in keys if part_of(key, before) != part_of(key, after)]
        assert all(part_of(key, after) >= before for key in moved)
        share = (after - before) / after
        assert 0.8 * share < len(moved) / len(keys) < 1.2 * share


def test_where_things_are_never_changes() -> None:
    assert [part_of(f"key-{n}", 8) for n in range(12)] == KEYS_OF_EIGHT
    assert [data_partition_of("orders", n, 16) for n in range(12)] == HOMES_OF_ORDERS


KEYS_OF_EIGHT = [1, 3, 7, 0, 4, 6, 3, 1, 0, 3, 5, 0]
HOMES_OF_ORDERS = [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1]


def test_who_counts_with_fewer_partitions_is_told_to_look_again() -> None:
    world = World(3)
    world.create("q", 1)
    moved = next(key for key in map(str, range(99)) if part_of(key, 2) == 1)
    stays = next(key for key in map(str, range(99)) if part_of(key, 2) == 0)
    expect(world.define(AlterQueue("q", parts=2)))
    world.pump()
    refused = world.on_part(Send("q", 0, 1, (message("x", moved),)), "q", 0, Sent)
    assert isinstance(refused, Rejected)
    assert refused.kind is Rejection.STALE
    expect(world.on_part(Send("q", 0, 1, (message("x", stays),)), "q", 0, Sent))
    expect(world.on_part(Send("q", 1, 2, (message("x", moved),)), "q", 1, Sent))


def test_who_knows_more_than_the_partition_is_told_to_wait() -> None:
    world = World(3)
    expect(world.define(CreateQueue("q", 4)))
    for part in range(4):
        refused = world.send(message("x"), part=part)
        assert isinstance(refused, Rejected)
        assert refused.kind is Rejection.STALE
    world.pump()
    expect(world.define(CreateGroup("q", "g")))
    refused = world.on_part(Attach("q", 0, 2, "g", 1), "q", 0, object)
    assert isinstance(refused, Rejected)
    assert refused.kind is Rejection.STALE
    world.pump()
    for part in range(4):
        expect(world.send(message("x"), part=part))
        assert world.bodies("g", part=part) == ["x"]


def test_a_group_that_begins_at_the_next_message_has_all_of_a_partition_that_is_newer() -> None:
    world = World(2)
    world.create("q", 1)
    expect(world.send(message("old")))
    expect(world.define(CreateGroup("q", "g", GroupDef(start="next"))))
    expect(world.define(AlterQueue("q", parts=2)))
    world.pump()
    expect(world.send(message("new")))
    expect(world.send(message("newer"), part=1))
    assert world.bodies("g") == ["new"]
    assert world.bodies("g", part=1) == ["newer"]
