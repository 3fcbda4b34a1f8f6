"""Whatever is done to a queue, in whatever order, it does what simple lists do.

One queue of one partition, then more; a group that a key blocks, one that a partition blocks, and
one that comes and goes. After every command all invariants are checked, and in the end the history
of every partition is played again.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.commands.alter_queue import AlterQueue
from remuda.queue.commands.create_group import CreateGroup
from remuda.queue.commands.discard import Discard
from remuda.queue.commands.drop_group import DropGroup
from remuda.queue.commands.purge import Purge, Purged
from remuda.queue.commands.replay import Replay, Replayed
from remuda.queue.commands.rewind import Rewind, Rewound
from remuda.queue.commands.seal_queue import SealQueue
from remuda.queue.model import GroupDef, NewMessage, QueueSettings, RetryDef
from tests.queue.lists import Entry, Listed, ListedGroup
from tests.queue.worlds import World, expect

DEDUP_MS = 700
KEEP_MS = 3_000
KEEP_COUNT = 6
PARTS_MAX = 3
GROUPS = {
    "by-key": GroupDef(retry=RetryDef(3, "key", 100, 1_000)),
    "in-order": GroupDef(retry=RetryDef(2, "partition", 200, 200)),
}
GUEST = GroupDef(retry=RetryDef(0, "key", 50, 50))

part_numbers = st.sampled_from([0, 0, 0, 1, 2])
group_names = st.sampled_from([*GROUPS, *GROUPS, "guest"])
keys = st.sampled_from(["", "a", "b", "c"])
sends = st.tuples(
    keys,
    st.sampled_from(["", "", "1", "2", "3"]),
    st.sampled_from([0, 0, 0, 150, 900]),
    st.sampled_from([0, 0, 0, 200, 1_500]),
)


class QueueMachineMatchesLists(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World(2)
        self.world.create(
            "q",
            1,
            QueueSettings(
                keep_count=KEEP_COUNT, keep_ms=KEEP_MS, dedup_ms=DEDUP_MS, dedup_count=1000
            ),
            **GROUPS,
        )
        self.lists = [Listed()]
        self.groups = dict(GROUPS)
        self._begin(0, *GROUPS)
        self.sealed = False
        self.bodies = 0

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    @rule(part=part_numbers, batch=st.lists(sends, min_size=1, max_size=8))
    def send(self, part: int, batch: list[tuple[str, str, int, int]]) -> None:
        part %= len(self.lists)
        listed, now_ms = self.lists[part], self.world.now_ms
        messages: list[NewMessage] = []
        for key, dedup, delay_ms, ttl_ms in batch:
            self.bodies += 1
            body = f"m{self.bodies}".encode()
            messages.append(NewMessage(body, key, dedup=dedup, delay_ms=delay_ms, ttl_ms=ttl_ms))
        answer = self.world.send(*messages, part=part)
        if self.sealed:
            assert isinstance(answer, Rejected)
            return
        positions: list[int] = []
        for message in messages:
            known = listed.ids.get(message.dedup) if message.dedup else None
            if known is not None and now_ms - known[1] < DEDUP_MS:
                positions.append(known[0])
                continue
            entry = Entry(message.body.decode(), message.key, now_ms)
            position = listed.send(entry, now_ms, message.delay_ms, message.ttl_ms)
            positions.append(position)
            if message.dedup:
                listed.ids[message.dedup] = (position, now_ms)
        assert expect(answer).positions == tuple(positions)

    @rule(part=part_numbers)
    def purge(self, part: int) -> None:
        part %= len(self.lists)
        answer = self.world.on_part(Purge("q", part, 0), "q", part, Purged)
        assert expect(answer).messages == self.lists[part].purge()

    @rule(by_ms=st.sampled_from([1, 60, 200, 1_000, 4_000]))
    def time_goes_by(self, by_ms: int) -> None:
        self.world.advance(by_ms)
        for listed in self.lists:
            listed.tick(self.world.now_ms)
        for part, listed in enumerate(self.lists):
            self._check_history(part, listed)

    # ── workers ──────────────────────────────────────────────────────────────────────────────

    @rule(part=part_numbers, name=group_names, by=st.integers(0, 2))
    def attach(self, part: int, name: str, by: int) -> None:
        part %= len(self.lists)
        group = self.lists[part].groups.get(name)
        epoch = by if group is None else group.epoch + by - 1
        answer = self.world.attach(name, epoch, part=part)
        if group is None or epoch < group.epoch:
            assert isinstance(answer, Rejected)
        else:
            group.epoch = epoch
            assert expect(answer).committed == self.lists[part].committed(name)

    @rule(part=part_numbers, name=group_names, chosen=st.integers(0, 2**8 - 1))
    def take_and_commit(self, part: int, name: str, chosen: int) -> None:
        part %= len(self.lists)
        listed = self.lists[part]
        if name not in listed.groups:
            return
        taken = self._check_takeable(part, name)
        positions = [at for i, at in enumerate(taken[:8]) if chosen >> i & 1]
        if positions:
            self._commit(part, name, positions)

    @rule(part=part_numbers, name=group_names, positions=st.lists(st.integers(0, 30), min_size=1))
    def commit_anything(self, part: int, name: str, positions: list[int]) -> None:
        part %= len(self.lists)
        listed = self.lists[part]
        if name not in listed.groups:
            return
        if max(positions) >= len(listed.log):
            group = listed.groups[name]
            answer = self.world.commit(
                name, *positions, epoch=group.epoch, turn=group.turn, part=part
            )
            assert isinstance(answer, Rejected)
        else:
            self._commit(part, name, positions)

    @rule(part=part_numbers, name=group_names, pick=st.integers(0, 5))
    def fail(self, part: int, name: str, pick: int) -> None:
        part %= len(self.lists)
        listed = self.lists[part]
        taken = [] if name not in listed.groups else self._check_takeable(part, name)
        if not taken:
            return
        group, position = listed.groups[name], taken[pick % len(taken)]
        attempt = group.attempts.get(position, 0) + 1
        legal = listed.is_first_of_its_key(name, position)
        answers = [
            self.world.fail(name, position, attempt, epoch=group.epoch, turn=group.turn, part=part)
            for _ in range(2)
        ]
        if not legal:
            assert isinstance(answers[0], Rejected)
            return
        failed = expect(answers[0])
        assert expect(answers[1]).retry_ms == failed.retry_ms
        listed.fail(name, position, failed.retry_ms)
        assert (failed.retry_ms < 0) == (position in group.done)

    @rule(part=part_numbers, name=group_names)
    def a_stale_owner_changes_nothing(self, part: int, name: str) -> None:
        part %= len(self.lists)
        listed = self.lists[part]
        group = listed.groups.get(name)
        if group is None or not listed.open(name):
            return
        at = listed.open(name)[0]
        for epoch, turn in ((group.epoch - 1, group.turn), (group.epoch, group.turn - 1)):
            for answer in (
                self.world.commit(name, at, epoch=epoch, turn=turn, part=part),
                self.world.fail(name, at, 99, epoch=epoch, turn=turn, part=part),
            ):
                assert isinstance(answer, Rejected)
                assert answer.kind is Rejection.STALE

    # ── operators ────────────────────────────────────────────────────────────────────────────

    @rule(part=part_numbers, name=group_names, position=st.integers(-1, 30))
    def rewind(self, part: int, name: str, position: int) -> None:
        part %= len(self.lists)
        listed = self.lists[part]
        command = Rewind("q", part, 0, name, to_position=position)
        answer = self.world.on_part(command, "q", part, Rewound)
        if name not in listed.groups or not listed.first <= position <= len(listed.log):
            assert isinstance(answer, Rejected)
        else:
            listed.rewind(name, position)
            assert expect(answer).turn == listed.groups[name].turn

    @rule(part=part_numbers, name=group_names, ago_ms=st.integers(0, 6_000))
    def rewind_in_time(self, part: int, name: str, ago_ms: int) -> None:
        part %= len(self.lists)
        listed = self.lists[part]
        to_ms = self.world.now_ms - ago_ms
        command = Rewind("q", part, 0, name, to_ms=to_ms)
        answer = self.world.on_part(command, "q", part, Rewound)
        gone = any(entry.sent_ms >= to_ms for entry in listed.log[: listed.first])
        if name not in listed.groups or gone:
            assert isinstance(answer, Rejected)
        else:
            later = (at for at, entry in enumerate(listed.log) if entry.sent_ms >= to_ms)
            position = next(later, len(listed.log))
            listed.rewind(name, position)
            assert expect(answer).position == position

    @rule(part=part_numbers, name=group_names, most=st.integers(1, 3), back=st.booleans())
    def replay_or_discard(self, part: int, name: str, most: int, back: bool) -> None:
        part %= len(self.lists)
        listed = self.lists[part]
        kind = Replay if back else Discard
        answer = self.world.on_part(kind("q", part, 0, name, None, most), "q", part, Replayed)
        if name not in listed.groups:
            assert isinstance(answer, Rejected)
            return
        dead = listed.groups[name].dead
        letters, dead[:] = dead[:most], dead[most:]
        assert expect(answer) == Replayed(len(letters), len(dead))
        for letter in letters if back else ():
            entry = Entry(letter.body, letter.key, self.world.now_ms, only=name)
            listed.send(entry, self.world.now_ms, 0, 0)

    @precondition(lambda self: len(self.lists) < PARTS_MAX)
    @rule()
    def grow(self) -> None:
        expect(self.world.define(AlterQueue("q", parts=len(self.lists) + 1)))
        self.world.pump()
        self.lists.append(Listed())
        self._begin(len(self.lists) - 1, *self.groups)

    @rule()
    def a_guest_comes_or_goes(self) -> None:
        if "guest" in self.groups:
            expect(self.world.define(DropGroup("q", "guest")))
            del self.groups["guest"]
            for listed in self.lists:
                del listed.groups["guest"]
        else:
            expect(self.world.define(CreateGroup("q", "guest", GUEST)))
            self.groups["guest"] = GUEST
            self.world.pump()
            for part in range(len(self.lists)):
                self._begin(part, "guest")
        self.world.pump()

    @precondition(lambda self: not self.sealed and self.bodies > 20)
    @rule()
    def seal(self) -> None:
        expect(self.world.define(SealQueue("q")))
        self.world.pump()
        self.sealed = True

    @rule()
    def every_owner_dies(self) -> None:
        for partition in self.world.partitions:
            partition.reopen()

    # ── what must be equal ───────────────────────────────────────────────────────────────────

    @invariant()
    def statistics_are_what_the_lists_say(self) -> None:
        for part, listed in enumerate(self.lists):
            stats = self.world.stats(part=part)
            self._follow_history(listed, stats.first)
            assert stats.next == len(listed.log)
            assert stats.delayed == len(listed.later)
            assert set(stats.groups) == set(listed.groups)
            for name, group in listed.groups.items():
                told, waiting = stats.groups[name], listed.open(name)
                assert told.lag == len(waiting)
                assert told.committed == min(waiting, default=len(listed.log))
                assert told.dead == len(group.dead)
                assert told.retrying == len(listed.retrying(name))
                assert told.ended == (self.sealed and not waiting and not listed.later)

    def teardown(self) -> None:
        self.world.check_replay()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _begin(self, part: int, *names: str) -> None:
        listed = self.lists[part]
        for name in names:
            retry = self.groups[name].retry
            assert retry is not None
            done = set(range(listed.first))
            listed.groups[name] = ListedGroup(retry.blocks, retry.max_attempts, done, epoch=0)
            expect(self.world.attach(name, 0, part=part))

    def _commit(self, part: int, name: str, positions: list[int]) -> None:
        listed = self.lists[part]
        group = listed.groups[name]
        answer = self.world.commit(name, *positions, epoch=group.epoch, turn=group.turn, part=part)
        if listed.commit(name, positions):
            assert expect(answer).committed == listed.committed(name)
        else:
            assert isinstance(answer, Rejected)

    def _check_takeable(self, part: int, name: str) -> list[int]:
        """What may be taken, which is compared with what lists allow."""
        listed, now_ms = self.lists[part], self.world.now_ms
        group, waiting = listed.groups[name], listed.open(name)
        found = self.world.take(name, part=part)
        taken = [one.position for one in found.taken]
        assert taken == sorted(set(taken))
        assert found.turn == group.turn
        for one in found.taken:
            assert one.message.body.decode() == listed.log[one.position].body
            assert one.attempt == group.attempts.get(one.position, 0) + 1
            assert one.position in waiting
            assert group.due_ms.get(one.position, 0) <= now_ms
        failed = listed.retrying(name) if group.blocks == "partition" else []
        end = min(failed, default=len(listed.log))
        assert all(at <= end for at in taken)
        for key in sorted({listed.log[at].key for at in waiting}):
            mine = [at for at in waiting if listed.log[at].key == key]
            got = [at for at in taken if listed.log[at].key == key]
            if key:
                assert got == mine[: len(got)]
                mine = mine[:1]
            due = [at for at in mine if at <= end and group.due_ms.get(at, 0) <= now_ms]
            assert set(due) <= set(got)
        return taken

    def _follow_history(self, listed: Listed, first: int) -> None:
        """What is let go of, and when, is the queue's affair; what may go is not."""
        done = min((listed.committed(name) for name in listed.groups), default=listed.first)
        assert listed.first <= first <= max(done, listed.first)
        for entry in listed.log[listed.first : first]:
            is_old = entry.sent_ms + KEEP_MS <= self.world.now_ms
            assert is_old or done - listed.first > KEEP_COUNT
        listed.first = first

    def _check_history(self, part: int, listed: Listed) -> None:
        self._follow_history(listed, self.world.stats(part=part).first)
        done = min((listed.committed(name) for name in listed.groups), default=listed.first)
        # It is looked at again within the time that it is kept.
        old_ms = self.world.now_ms - 2 * KEEP_MS
        assert all(entry.sent_ms > old_ms for entry in listed.log[listed.first : done])


TestQueuesAgainstLists = QueueMachineMatchesLists.TestCase
TestQueuesAgainstLists.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
