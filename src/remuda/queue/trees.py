"""Tracked trees: a root, and what handlers made of it, until all of it is done.

Every message of a tree has a value, derived by hash from the tree and from its parent, so that a
handler that is run again makes the same ones. When a message is done its value is XORed into the
tree, which is kept with the root, together with the values of what it has made; the count goes
down by one, and up by one for each that it has made. Value and count are both zero when, and
except for a chance of 2⁻⁶⁴ only when, all is done: a value alone would be cancelled by its twin.

Each time that the root is put in again the tree begins anew with another *turn*; what is said of
an earlier turn is not listened to.
"""

from __future__ import annotations

from msgspec.structs import replace

from remuda.partition.keys import number
from remuda.queue.effects import TreeEnded
from remuda.queue.layout import encode, read_track, read_tree
from remuda.queue.model import Message, Outcome, Track, Tree
from remuda.queue.part import Part
from remuda.queue.placement import stable_hash
from remuda.queue.work import Work


def new_tree(part: Part, track_ms: int) -> int:
    """A tree that waits for its root."""
    tree_number = part.run.tree_next
    part.run.tree_next += 1
    _put(part, tree_number, Tree(track_ms))
    return tree_number


def plant(work: Work, part: Part, tree_number: int, root: Message) -> int:
    """Put a root at the end of its partition, the first time or again; its position."""
    tree = tree_at(part, tree_number)
    assert tree is not None
    value = stable_hash(part.name, part.index, tree_number, tree.replays)
    track = Track(part.name, part.index, tree_number, tree.replays, value)
    tree.position = part.append(replace(root, track=track))
    tree.value, tree.count = value, 1
    part.run.trees += 1
    part.state.put(part.keys.root(tree.position), b"")
    _put(part, tree_number, tree)
    _set_timer(part, tree_number, work.now_ms + tree.track_ms)
    return tree.position


def add(work: Work, part: Part, tree_number: int, turn: int, value: int, count: int) -> None:
    """Something of a tree is done, or made. What comes too late is nothing."""
    tree = tree_at(part, tree_number)
    if tree is None or tree.outcome is not None or tree.replays != turn or tree.position < 0:
        return
    tree.value ^= value
    tree.count += count
    if tree.value == 0 and tree.count == 0:
        _uproot(part, tree)
        part.run.trees_done += 1
        _end(work, part, tree_number, tree, "done")
    else:
        _put(part, tree_number, tree)


def overdue(work: Work, part: Part, tree_number: int) -> None:
    """The timer of a tree: its deadline has come, or its outcome has been kept for long enough."""
    tree = tree_at(part, tree_number)
    if tree is None:
        return
    if tree.outcome is not None:
        part.state.delete(part.keys.tree(tree_number))
    elif part.state.get(part.keys.tracked(tree.position)) is not None:
        # The root is still to be handled: to put it in again would only double it.
        _set_timer(part, tree_number, work.now_ms + tree.track_ms)
    elif tree.replays >= part.definition.settings.tree_replays_max:
        _uproot(part, tree)
        part.run.trees_failed += 1
        _end(work, part, tree_number, tree, "failed")
    else:
        root = part.message(tree.position)
        _uproot(part, tree)
        tree.replays += 1
        part.run.tree_replays += 1
        _put(part, tree_number, tree)
        plant(work, part, tree_number, replace(root, sent_ms=work.now_ms, expires_ms=0))
        work.wake(part)


def cut(work: Work, part: Part, tree_number: int) -> None:
    """The root of a tree is purged, and the tree with it."""
    tree = tree_at(part, tree_number)
    if tree is None or tree.outcome is not None:
        return
    if tree.position >= 0:
        _uproot(part, tree)
    _end(work, part, tree_number, tree, "purged")


def tree_at(part: Part, tree_number: int) -> Tree | None:
    data = part.state.get(part.keys.tree(tree_number))
    return None if data is None else read_tree(data)


def child(parent: Track, group: str, nth: int) -> Track:
    """The place of the nth message that a group's handler makes of another."""
    value = stable_hash(
        parent.queue, parent.part, parent.tree, parent.turn, parent.value, group, nth
    )
    return replace(parent, value=value)


def take_track(part: Part, position: int) -> Track | None:
    """What a message owes its tree; from now on somebody else owes it."""
    if not part.run.tracked:
        return None
    key = part.keys.tracked(position)
    data = part.state.get(key)
    if data is None:
        return None
    part.state.delete(key)
    part.run.tracked -= 1
    return read_track(data)


def tracked_between(part: Part, start: int, end: int) -> list[int]:
    """The positions of messages that owe their trees something."""
    if not part.run.tracked or start >= end:
        return []
    found = part.state.scan(part.keys.tracked(start), part.keys.tracked(end))
    return [number(key, len(key) - 8) for key, _ in found]


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _end(work: Work, part: Part, tree_number: int, tree: Tree, outcome: Outcome) -> None:
    tree.outcome, tree.ended_ms = outcome, work.now_ms
    _put(part, tree_number, tree)
    _set_timer(part, tree_number, work.now_ms + part.definition.settings.tree_keep_ms)
    work.effect(TreeEnded(part.name, part.index, tree_number, outcome))
    work.wake(part)


def _uproot(part: Part, tree: Tree) -> None:
    """The root is not needed any more: it may go when it is old enough."""
    part.run.trees -= 1
    part.state.delete(part.keys.root(tree.position))
    old_ms = part.message(tree.position).sent_ms + part.definition.settings.keep_ms
    part.arm(max(old_ms, part.now_ms))


def _put(part: Part, tree_number: int, tree: Tree) -> None:
    part.state.put(part.keys.tree(tree_number), encode(tree))


def _set_timer(part: Part, tree_number: int, at_ms: int) -> None:
    part.state.set_timer(
        at_ms, part.keys.tree(tree_number), encode((part.name, part.index, tree_number))
    )
