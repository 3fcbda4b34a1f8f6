"""What is true of every state that the commands on queues can produce, by name.

Checked after every command in tests. Each answers what is wrong with a partition of a queue, or
None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from remuda.partition.keys import after, number, parts
from remuda.partition.machine import View
from remuda.queue.layout import (
    KNOWN,
    part_keys,
    read_dead_letter,
    read_delayed,
    read_group_run,
    read_hole,
    read_message,
    read_queue_def,
    read_queue_run,
    read_remembered,
    read_tree,
)
from remuda.queue.limits import OPEN_MAX
from remuda.queue.model import PARKED, GroupRun, Hole, QueueDef


class Whole:
    """A partition of a queue with everything that is in it."""

    def __init__(self, view: View, definition: QueueDef, index: int) -> None:
        self.view = view
        self.definition = definition
        self.index = index
        self.keys = keys = part_keys(definition.name, index)
        data = view.get(keys.run)
        assert data is not None
        self.run = read_queue_run(data)
        self.messages = {
            number(key, len(key) - 8): read_message(value) for key, value in self.all(b"m")
        }
        self.spent = {number(key, len(key) - 8): value.decode() for key, value in self.all(b"s")}
        self.groups = {name: Group(self, name) for name in definition.groups}

    def all(self, kind: bytes) -> Iterator[tuple[bytes, bytes]]:
        stem = self.keys.stem + kind
        return self.view.scan(stem, after(stem))

    def positions(self, kind: bytes) -> list[int]:
        return [number(key, len(key) - 8) for key, _ in self.all(kind)]


class Group:
    def __init__(self, part: Whole, name: str) -> None:
        keys = part.keys.group(name)
        data = part.view.get(keys.run)
        assert data is not None
        self.name = name
        self.run: GroupRun = read_group_run(data)
        self._stem = keys.stem
        self._view = part.view
        self.holes: dict[int, Hole] = {
            number(key, len(key) - 8): read_hole(value) for key, value in self.all(b"o")
        }

    def all(self, kind: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self._view.scan(self._stem + kind, after(self._stem + kind))

    def is_done(self, part: Whole, position: int) -> bool:
        if position < self.run.frontier:
            return position not in self.holes
        return self.is_spent(part, position)

    def is_spent(self, part: Whole, position: int) -> bool:
        return part.spent.get(position, self.name) != self.name


# ── messages ─────────────────────────────────────────────────────────────────────────────────


def messages_are_dense_between_what_is_swept_and_the_end(part: Whole) -> str | None:
    run = part.run
    if list(part.messages) != list(range(run.swept, run.next)):
        return f"messages at {list(part.messages)}, but {run.swept} to {run.next} are kept"
    if not run.swept <= run.first <= run.next:
        return f"swept {run.swept}, first {run.first}, next {run.next}"
    return None


def times_never_go_back(part: Whole) -> str | None:
    times = [message.sent_ms for message in part.messages.values()]
    return f"sent at {times}" if times != sorted(times) else None


def counts_are_what_they_count(part: Whole) -> str | None:
    run = part.run
    delayed = [read_delayed(value).number for _, value in part.all(b"v")]
    counted = {
        "delayed": (run.delayed, sum(one >= run.delayed_first for one in delayed)),
        "expiring": (run.expiring, len(part.positions(b"x"))),
        "spent": (run.spent, len(part.spent)),
        "tracked": (run.tracked, len(part.positions(b"a"))),
        "trees": (run.trees, len(part.positions(b"b"))),
        "window": (run.dedup_next - run.dedup_first, len(part.positions(b"w"))),
    }
    wrong = {name: pair for name, pair in counted.items() if pair[0] != pair[1]}
    return f"counted and there: {wrong}" if wrong else None


def what_will_expire_is_told_by_its_message(part: Whole) -> str | None:
    told = {
        (message.expires_ms, position)
        for position, message in part.messages.items()
        if message.expires_ms >= part.run.ticked_ms and message.expires_ms
    }
    found = {(number(key, len(key) - 16), number(key, len(key) - 8)) for key, _ in part.all(b"x")}
    return f"{sorted(told - found)} expire, and nobody will see to it" if told - found else None


def a_timer_is_set_for_what_is_due_first(part: Whole) -> str | None:
    due = [number(key, len(key) - 16) for kind in (b"v", b"x") for key, _ in part.all(kind)]
    if due and not 0 < part.run.wake_ms <= max(1, min(due)):
        return f"due at {sorted(due)}, seen to at {part.run.wake_ms}"
    return None


def every_dedup_id_has_its_place_in_the_window(part: Whole) -> str | None:
    window = {number(key, len(key) - 8): value.decode() for key, value in part.all(b"w")}
    stem = part.keys.stem + b"i"
    for key, value in part.all(b"i"):
        dedup = parts(key, stem, str)[0]
        place = read_remembered(value).number
        if window.get(place) != dedup:
            return f"{dedup} has the place {place}, where {window.get(place)} is"
    return None


# ── groups ───────────────────────────────────────────────────────────────────────────────────


def a_group_is_between_what_is_kept_and_the_end(part: Whole) -> str | None:
    for name, group in part.groups.items():
        run = group.run
        if not part.run.first <= run.committed <= run.frontier <= part.run.next:
            return f"{name} has done {run.committed} to {run.frontier} of {part.run}"
    return None


def the_first_undone_message_is_where_a_group_is(part: Whole) -> str | None:
    for name, group in part.groups.items():
        undone = [at for at in range(part.run.first, part.run.next) if not group.is_done(part, at)]
        if group.run.committed != min(undone, default=part.run.next):
            return f"{name} is at {group.run.committed}, and {undone} are not done"
    return None


def holes_are_counted_and_few(part: Whole) -> str | None:
    for name, group in part.groups.items():
        run = group.run
        retrying = sum(hole.attempts > 0 for hole in group.holes.values())
        if (run.holes, run.retrying) != (len(group.holes), retrying) or run.holes > OPEN_MAX:
            return f"{name} counts {run.holes}, {run.retrying}: {group.holes}"
        outside = [at for at in group.holes if not part.run.first <= at < run.frontier]
        if outside or any(group.is_spent(part, at) for at in group.holes):
            return f"{name} has holes {sorted(group.holes)}, spent or outside: {outside}"
    return None


def what_is_spent_ahead_is_counted(part: Whole) -> str | None:
    for name, group in part.groups.items():
        ahead = sum(group.is_spent(part, at) for at in range(group.run.frontier, part.run.next))
        if group.run.passed != ahead:
            return f"{name} counts {group.run.passed}, and {ahead} are spent ahead of it"
    return None


def exactly_the_first_hole_of_a_key_is_free(part: Whole) -> str | None:
    for name, group in part.groups.items():
        seen: set[str] = set()
        for position, hole in group.holes.items():
            if hole.key != part.messages[position].key:
                return f"{name} has a hole of {hole.key} at {position}"
            if (hole.due_ms == PARKED) != (hole.key != "" and hole.key in seen):
                return f"{name} has {hole} at {position}, after {sorted(seen)}"
            seen.add(hole.key)
    return None


def holes_are_found_by_time_and_by_key(part: Whole) -> str | None:
    for name, group in part.groups.items():
        due = [
            (number(key, len(key) - 16), number(key, len(key) - 8)) for key, _ in group.all(b"t")
        ]
        free = sorted((h.due_ms, at) for at, h in group.holes.items() if h.due_ms != PARKED)
        if due != free or (due and group.run.due_ms > due[0][0]):
            return f"{name}: {due} by time from {group.run.due_ms}, and {free} are free"
        stem = part.keys.group(name).stem + b"k"
        keyed = {parts(key, stem, str, int) for key, _ in group.all(b"k")}
        if keyed != {(hole.key, at) for at, hole in group.holes.items() if hole.key}:
            return f"{name}: {sorted(keyed)} by key, and holes {group.holes}"
    return None


def nothing_is_done_before_an_earlier_one_of_its_key(part: Whole) -> str | None:
    for name, group in part.groups.items():
        waiting: dict[str, int] = {}
        for position in range(part.run.first, part.run.next):
            key = part.messages[position].key
            if not group.is_done(part, position):
                waiting.setdefault(key, position)
            elif key in waiting and key and not group.is_spent(part, position):
                return f"{name} is done with {position} of {key}, not with {waiting[key]}"
    return None


def dead_letters_are_counted(part: Whole) -> str | None:
    for name, group in part.groups.items():
        letters = [read_dead_letter(value) for _, value in group.all(b"z")]
        if group.run.dead != len(letters):
            return f"{name} counts {group.run.dead} dead letters of {len(letters)}"
        if any(not letter.message.failures for letter in letters):
            return f"{name} has a dead letter without a history"
    return None


# ── trees ────────────────────────────────────────────────────────────────────────────────────


def a_tree_that_is_not_over_has_its_root(part: Whole) -> str | None:
    roots: list[int] = []
    for _, value in part.all(b"t"):
        tree = read_tree(value)
        if tree.outcome is None and tree.position >= 0:
            roots.append(tree.position)
            if tree.value == 0 and tree.count == 0:
                return f"the tree at {tree.position} is done, and nobody was told"
    if sorted(roots) != part.positions(b"b"):
        return f"roots at {sorted(roots)}, told of at {part.positions(b'b')}"
    gone = [root for root in roots if root < part.run.first]
    return f"the roots at {gone} are gone" if gone else None


def what_is_owed_to_a_tree_is_not_done(part: Whole) -> str | None:
    for position in part.positions(b"a"):
        if position < part.run.first or not part.groups:
            continue
        if all(group.is_done(part, position) for group in part.groups.values()):
            return f"{position} is done, and its tree was not told"
    return None


Invariant = Callable[[Whole], str | None]

INVARIANTS: tuple[Invariant, ...] = (
    messages_are_dense_between_what_is_swept_and_the_end,
    times_never_go_back,
    counts_are_what_they_count,
    what_will_expire_is_told_by_its_message,
    a_timer_is_set_for_what_is_due_first,
    every_dedup_id_has_its_place_in_the_window,
    # groups
    a_group_is_between_what_is_kept_and_the_end,
    the_first_undone_message_is_where_a_group_is,
    holes_are_counted_and_few,
    what_is_spent_ahead_is_counted,
    exactly_the_first_hole_of_a_key_is_free,
    holes_are_found_by_time_and_by_key,
    nothing_is_done_before_an_earlier_one_of_its_key,
    dead_letters_are_counted,
    # trees
    a_tree_that_is_not_over_has_its_root,
    what_is_owed_to_a_tree_is_not_done,
)


def broken(view: View) -> list[str]:
    """What is wrong with the queues of a data partition, a line each."""
    wrong: list[str] = []
    for _, value in view.scan(KNOWN, after(KNOWN)):
        definition = read_queue_def(value)
        for index in range(definition.parts):
            if view.get(part_keys(definition.name, index).run) is None:
                continue
            part = Whole(view, definition, index)
            for invariant in INVARIANTS:
                found = invariant(part)
                if found is not None:
                    wrong.append(f"{invariant.__name__}: {definition.name}/{index}: {found}")
    return wrong
