"""Tracked trees: whatever fails, a tree is done when all of it is done, or its root comes again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from remuda.partition.machine import Rejected
from remuda.queue.commands.commit import Emit
from remuda.queue.commands.drop_group import DropGroup
from remuda.queue.commands.purge import Purge, Purged
from remuda.queue.commands.replay import Replay, Replayed
from remuda.queue.commands.seal_queue import SealQueue
from remuda.queue.effects import TreeEnded
from remuda.queue.invariants import Whole
from remuda.queue.layout import read_dead_letter, read_track
from remuda.queue.model import GroupDef, NewMessage, QueueSettings, RetryDef, Track, Tree
from remuda.queue.placement import part_of
from remuda.queue.reading import definitions, tree_of
from tests.queue.worlds import World, expect, message

G = GroupDef(retry=RetryDef(2, "key", 100, 100))
DEADLINE_MS = 5_000


def tree(world: World, number: int = 0, queue: str = "q", part: int = 0) -> Tree:
    found = tree_of(world.partitions[world.home(queue, part)].view, queue, part, number)
    assert found is not None
    return found


def one_queue(**groups: GroupDef) -> World:
    world = World()
    world.create("q", 1, QueueSettings(tree_replays_max=2), **(groups or {"g": G}))
    for group in groups or {"g": G}:
        expect(world.attach(group))
    return world


def emit(by: int, text: str, queue: str = "q", part: int = 0, key: str = "") -> Emit:
    return Emit(by, queue, part, NewMessage(text.encode(), key))


# ── one tree ─────────────────────────────────────────────────────────────────────────────────


def test_a_root_without_children_is_a_tree() -> None:
    world = one_queue()
    sent = expect(world.send(message("plain"), message("root", track_ms=DEADLINE_MS)))
    assert sent.trees == (-1, 0)
    expect(world.commit("g", 0))
    assert tree(world).outcome is None
    expect(world.commit("g", 1))
    assert tree(world).outcome == "done"
    assert TreeEnded("q", 0, 0, "done") in world.effects


def test_a_tree_is_done_when_all_that_was_made_is_done() -> None:
    world = one_queue()
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    expect(world.commit("g", 0, emits=(emit(0, "1"), emit(0, "2"))))
    assert world.bodies("g") == ["1", "2"]
    expect(world.commit("g", 1, emits=(emit(1, "3"),)))
    expect(world.commit("g", 3))
    assert tree(world).outcome is None
    expect(world.commit("g", 2))
    assert tree(world).outcome == "done"


def test_what_is_not_to_be_tracked_is_not_waited_for() -> None:
    world = one_queue()
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    expect(world.commit("g", 0, emits=(Emit(0, "q", 0, message("aside"), tracked=False),)))
    assert tree(world).outcome == "done"
    assert world.bodies("g") == ["aside"]


def test_a_commit_that_is_told_twice_makes_its_messages_once() -> None:
    world = one_queue()
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    for _ in range(2):
        expect(world.commit("g", 0, emits=(emit(0, "1"),)))
    assert world.bodies("g") == ["1"]
    expect(world.commit("g", 1))
    assert tree(world).outcome == "done"


def test_what_is_made_twice_under_one_id_is_waited_for_once() -> None:
    world = one_queue()
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    twin = Emit(0, "q", 0, NewMessage(b"1", dedup="same"))
    expect(world.commit("g", 0, emits=(twin, twin)))
    assert world.bodies("g") == ["1"]
    expect(world.commit("g", 1))
    assert tree(world).outcome == "done"


def test_a_root_comes_again_when_its_deadline_has_come_and_something_of_it_is_dead() -> None:
    world = one_queue(g=GroupDef(retry=RetryDef(1)))
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    expect(world.commit("g", 0, emits=(emit(0, "1"),)))
    expect(world.fail("g", 1))
    world.advance(DEADLINE_MS - 1)
    assert world.bodies("g") == []
    world.advance(1)
    assert world.bodies("g") == ["root"]
    expect(world.commit("g", 2, emits=(emit(2, "1"),)))
    expect(world.on_part(Replay("q", 0, 0, "g"), "q", 0, Replayed))
    assert world.bodies("g") == ["1", "1"]
    expect(world.commit("g", 4))
    assert tree(world).outcome is None, "what is left of an earlier turn counts for nothing"
    expect(world.commit("g", 3))
    assert (tree(world).outcome, tree(world).replays) == ("done", 1)


def test_a_dead_letter_that_is_replayed_in_time_completes_its_tree() -> None:
    world = one_queue(g=GroupDef(retry=RetryDef(1)))
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    expect(world.fail("g", 0))
    expect(world.on_part(Replay("q", 0, 0, "g"), "q", 0, Replayed))
    expect(world.commit("g", 1))
    assert tree(world).outcome == "done"


def test_what_was_dropped_is_not_done_for_its_tree() -> None:
    world = one_queue(g=GroupDef(retry=RetryDef(1, dead_letters=False)))
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    expect(world.fail("g", 0))
    assert (world.stats().groups["g"].dropped, world.stats().groups["g"].dead) == (1, 0)
    assert tree(world).outcome is None
    world.advance(DEADLINE_MS)
    assert world.bodies("g") == ["root"]


def test_a_root_that_was_not_handled_yet_is_waited_for_and_not_doubled() -> None:
    world = one_queue()
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    world.advance(3 * DEADLINE_MS)
    assert world.bodies("g") == ["root"]
    assert tree(world).replays == 0


def test_a_tree_whose_root_came_too_often_has_failed() -> None:
    world = one_queue(g=GroupDef(retry=RetryDef(1)))
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    for position in range(3):
        expect(world.fail("g", position))
        world.advance(DEADLINE_MS)
    assert (tree(world).outcome, tree(world).replays) == ("failed", 2)
    assert world.stats().trees_failed == 1
    world.advance(QueueSettings().tree_keep_ms)
    assert tree_of(world.partitions[0].view, "q", 0, 0) is None


def test_a_message_is_done_for_its_tree_when_every_group_is_done_with_it() -> None:
    world = one_queue(g=G, h=G)
    expect(world.send(message("root", track_ms=DEADLINE_MS), message("other", track_ms=9)))
    expect(world.commit("g", 0, 1))
    assert tree(world).outcome is None
    expect(world.commit("h", 0))
    assert tree(world).outcome == "done"
    expect(world.define(DropGroup("q", "h")))
    world.pump()
    assert tree(world, 1).outcome == "done"


def test_a_delayed_root_begins_its_tree_when_its_time_has_come() -> None:
    world = one_queue()
    sent = expect(world.send(message("root", delay_ms=100, track_ms=DEADLINE_MS)))
    assert (sent.positions, sent.trees) == ((-1,), (0,))
    world.advance(100)
    expect(world.commit("g", 0))
    assert tree(world).outcome == "done"


def test_the_trees_of_purged_roots_are_over() -> None:
    world = one_queue()
    expect(world.send(message("1", track_ms=9), message("2", track_ms=9, delay_ms=50)))
    expect(world.on_part(Purge("q", 0, 0), "q", 0, Purged))
    world.advance(50)
    assert [tree(world, number).outcome for number in (0, 1)] == ["purged", "purged"]


def test_an_expired_message_is_done_for_its_tree() -> None:
    world = one_queue()
    expect(world.send(message("root", track_ms=DEADLINE_MS, ttl_ms=10)))
    world.advance(10)
    assert tree(world).outcome == "done"


def test_a_root_is_kept_as_long_as_it_may_have_to_come_again() -> None:
    world = World()
    world.create("q", 1, QueueSettings(keep_count=0, keep_ms=0), g=GroupDef(retry=RetryDef(1)))
    expect(world.attach("g"))
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    expect(world.commit("g", 0, emits=(emit(0, "1"),)))
    expect(world.fail("g", 1))
    world.advance(DEADLINE_MS - 1)
    assert world.stats().first == 0
    world.advance(1)
    assert world.bodies("g") == ["root"]
    world.advance(1)
    assert world.stats().first == 2


def test_the_end_of_a_sealed_queue_is_not_reached_while_a_root_may_come_again() -> None:
    world = one_queue(g=GroupDef(retry=RetryDef(1)))
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    expect(world.define(SealQueue("q")))
    world.pump()
    expect(world.fail("g", 0))
    assert not world.take("g").ended
    world.advance(DEADLINE_MS)
    assert expect(world.commit("g", 1)).ended


def test_what_is_made_for_a_queue_that_a_partition_does_not_know_yet_waits_there() -> None:
    world = World(4)
    world.create("q", 1, None, g=G)
    world.create("r", 4)
    expect(world.attach("g"))
    expect(world.send(message("root", track_ms=DEADLINE_MS)))
    emits = tuple(emit(0, str(part), "new", part) for part in range(4))
    expect(world.commit("g", 0, emits=emits))
    world.pump()
    world.create("new", 4, None, g=G)
    world.pump()
    for part in range(4):
        assert world.bodies("g", queue="new", part=part) == [str(part)]
        expect(world.attach("g", queue="new", part=part))
        expect(world.commit("g", 0, queue="new", part=part))
    world.pump()
    assert tree(world).outcome == "done"


@pytest.mark.parametrize("emits", [(emit(5, "x"),), (emit(0, ""),), (emit(0, "x", "no queue"),)])
def test_what_cannot_be_delivered_is_refused_with_the_commit(emits: tuple[Emit, ...]) -> None:
    world = one_queue()
    expect(world.send(message("root")))
    assert isinstance(world.commit("g", 0, emits=emits), Rejected)
    assert world.bodies("g") == ["root"]


# ── a forest under fire ──────────────────────────────────────────────────────────────────────

QUEUES = {"a": 2, "b": 3, "c": 2}
AFTER = {"a": "b", "b": "c"}
ROOTS = 12
FAN_OUT = 2


class Forest:
    """Three queues in four partitions: a root makes two, each of which makes two leaves."""

    def __init__(self, seed: int, failing_percent: int) -> None:
        self.chance = random.Random(seed)
        self.failing_percent = failing_percent
        self.world = World(4)
        self.handled = Counter[str]()
        settings = QueueSettings(tree_replays_max=1_000, keep_count=3, keep_ms=2_000)
        for queue, parts in QUEUES.items():
            self.world.create(queue, parts, settings, g=G)
            for part in range(parts):
                expect(self.world.attach("g", queue=queue, part=part))
        for number in range(ROOTS):
            root = message(f"r{number}", f"k{number % 3}", track_ms=DEADLINE_MS)
            expect(self.world.send(root, queue="a", part=number % 2))

    def run(self) -> None:
        for _ in range(20_000):
            if self.is_over():
                return
            step = self.chance.randrange(10)
            if step < 5:
                self.work()
            elif step < 9:
                self.world.deliver_one(self.chance.randrange(4), self.chance.randrange(4))
            else:
                self.world.now_ms += self.chance.randrange(200)
                self.tick()
            if step == 9 and not any(partition.outbox for partition in self.world.partitions):
                self.check_sums()
        raise AssertionError("some tree is never done")

    def tick(self) -> None:
        for partition in self.world.partitions:
            self.world.effects += [one for _, one in partition.tick(self.world.now_ms)]
        if not self.chance.randrange(20):
            self.chance.choice(self.world.partitions).reopen()

    def work(self) -> None:
        queue = self.chance.choice(list(QUEUES))
        part = self.chance.randrange(QUEUES[queue])
        taken = self.world.take("g", 5, queue=queue, part=part).taken
        firsts = {one.message.key: one for one in reversed(taken)}
        if not firsts:
            return
        one = self.chance.choice(list(firsts.values()))
        if self.chance.randrange(100) < self.failing_percent:
            expect(self.world.fail("g", one.position, one.attempt, queue=queue, part=part))
            return
        body = one.message.body.decode()
        emits: list[Emit] = []
        for n in range(FAN_OUT if queue in AFTER else 0):
            key, to = f"{body}.{n}", AFTER[queue]
            emits.append(emit(one.position, key, to, part_of(key, QUEUES[to]), key))
        expect(self.world.commit("g", one.position, emits=tuple(emits), queue=queue, part=part))
        self.handled[body] += 1

    def is_over(self) -> bool:
        ended = [one for one in self.world.effects if isinstance(one, TreeEnded)]
        return len(ended) >= ROOTS

    def check_sums(self) -> None:
        """With nothing on its way, a tree is the sum of what is still owed to it."""
        owed: dict[Track, tuple[int, int]] = {}
        found: dict[Track, tuple[int, int]] = {}
        for part in self.parts():
            name, index = part.definition.name, part.index
            tracks = [read_track(value) for _, value in part.all(b"a")]
            letters = [read_dead_letter(value) for _, value in part.groups["g"].all(b"z")]
            tracks += [one.message.track for one in letters if one.message.track]
            for track in tracks:
                place = replace(track, value=0)
                value, count = owed.get(place, (0, 0))
                owed[place] = (value ^ track.value, count + 1)
            for number in range(part.run.tree_next):
                known = tree_of(part.view, name, index, number)
                if known is not None and known.outcome is None:
                    place = Track(name, index, number, known.replays, 0)
                    found[place] = (known.value, known.count)
        assert found == {place: owed[place] for place in found}

    def parts(self) -> Iterator[Whole]:
        for definition in definitions(self.world.partitions[0].view):
            for index in range(definition.parts):
                home = self.world.home(definition.name, index)
                yield Whole(self.world.partitions[home].view, definition, index)


@pytest.mark.parametrize(("failing_percent", "seed"), [(5, 0), (5, 1), (15, 2), (30, 3)])
def test_every_tree_is_done_and_every_leaf_was_handled(failing_percent: int, seed: int) -> None:
    forest = Forest(seed, failing_percent)
    forest.run()
    ended = [one for one in forest.world.effects if isinstance(one, TreeEnded)]
    assert sorted((one.part, one.tree, one.outcome) for one in ended) == [
        (part, number, "done") for part in range(2) for number in range(ROOTS // 2)
    ]
    leaves = [f"r{r}.{x}.{y}" for r in range(ROOTS) for x in range(2) for y in range(2)]
    assert all(forest.handled[leaf] for leaf in leaves)
    forest.world.check_replay()


def test_a_forest_under_fire_does_lose_leaves_and_get_them_back() -> None:
    forest = Forest(1, 30)
    forest.run()
    assert sum(forest.world.stats("a", part).tree_replays for part in range(2)) > 0
    assert any(count > 1 for count in forest.handled.values())
