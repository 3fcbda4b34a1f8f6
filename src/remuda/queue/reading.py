"""Looking at queues: definitions, messages, dead letters, trees, statistics. Nothing changes."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from remuda.partition.keys import after, number
from remuda.partition.machine import View
from remuda.queue.layout import (
    ASKED,
    PartKeys,
    asked,
    known,
    part_keys,
    read_dead_letter,
    read_group_run,
    read_message,
    read_queue_def,
    read_queue_run,
    read_tree,
)
from remuda.queue.model import DeadLetter, GroupRun, Message, QueueDef, QueueRun, Tree


def definition_of(view: View, queue: str) -> QueueDef | None:
    """As asked for: in the partition that keeps definitions."""
    data = view.get(asked(queue))
    return None if data is None else read_queue_def(data)


def definitions(view: View) -> Iterator[QueueDef]:
    """All, by name."""
    for _, value in view.scan(ASKED, after(ASKED)):
        yield read_queue_def(value)


def peek(view: View, queue: str, part: int, start: int, limit: int) -> list[tuple[int, Message]]:
    """Messages from a position on, whoever is done with them."""
    keys = part_keys(queue, part)
    run = _run_of(view, keys)
    if run is None:
        return []
    first = keys.message(max(start, run.first))
    found = view.scan(first, keys.message(run.next), limit=limit)
    return [(number(key, len(key) - 8), read_message(value)) for key, value in found]


def dead_letters(
    view: View, queue: str, part: int, group: str, start: int, limit: int
) -> list[tuple[int, DeadLetter]]:
    """By number, oldest first."""
    keys = part_keys(queue, part).group(group)
    found = view.scan(keys.dead_letter(max(start, 0)), after(keys.dead_letters), limit=limit)
    return [(number(key, len(key) - 8), read_dead_letter(value)) for key, value in found]


def tree_of(view: View, queue: str, part: int, tree: int) -> Tree | None:
    """None: there never was one, or its outcome has been kept for long enough."""
    data = view.get(part_keys(queue, part).tree(tree))
    return None if data is None else read_tree(data)


# ── statistics ───────────────────────────────────────────────────────────────────────────────


class GroupStats(Struct, frozen=True):
    lag: int
    """Messages that are not done."""
    retrying: int
    dead: int
    committed: int
    oldest_ms: int
    """How long the first message that is not done has waited; 0: none waits."""
    ended: bool
    owner_epoch: int
    done: int
    failed: int
    expired: int
    dropped: int
    died: int
    replayed: int


class PartStats(Struct, frozen=True):
    """Depth and totals. A rate is the difference of two totals, and the reader's business."""

    depth: int
    """Messages that some group is not done with; without groups, all that are kept."""
    kept: int
    delayed: int
    next: int
    first: int
    oldest_ms: int
    trees: int
    sent: int
    sent_bytes: int
    duplicates: int
    expired: int
    purged: int
    trees_done: int
    trees_failed: int
    tree_replays: int
    groups: dict[str, GroupStats]


def part_stats(view: View, queue: str, part: int, now_ms: int) -> PartStats | None:
    keys = part_keys(queue, part)
    run, defined = _run_of(view, keys), view.get(known(queue))
    if run is None or defined is None:
        return None
    definition = read_queue_def(defined)
    groups: dict[str, GroupStats] = {}
    for group in definition.groups:
        data = view.get(keys.group(group).run)
        if data is not None:
            progress = read_group_run(data)
            groups[group] = _group_stats(view, keys, definition, run, progress, now_ms)
    waiting = min((group.committed for group in groups.values()), default=run.first)
    return PartStats(
        depth=max((group.lag for group in groups.values()), default=run.next - run.first),
        kept=run.next - run.first,
        delayed=run.delayed,
        next=run.next,
        first=run.first,
        oldest_ms=_age_ms(view, keys, run, waiting, now_ms),
        trees=run.trees,
        sent=run.sent,
        sent_bytes=run.sent_bytes,
        duplicates=run.duplicates,
        expired=run.expired,
        purged=run.purged,
        trees_done=run.trees_done,
        trees_failed=run.trees_failed,
        tree_replays=run.tree_replays,
        groups=groups,
    )


def lag_of(run: QueueRun, progress: GroupRun) -> int:
    return run.next - progress.frontier - progress.passed + progress.holes


def is_ended(definition: QueueDef, run: QueueRun, progress: GroupRun) -> bool:
    """Nothing is left to do, and nothing more comes: no delayed message, no root again."""
    return (
        definition.sealed and not run.delayed and not run.trees and progress.committed == run.next
    )


def _group_stats(
    view: View,
    keys: PartKeys,
    definition: QueueDef,
    run: QueueRun,
    progress: GroupRun,
    now_ms: int,
) -> GroupStats:
    return GroupStats(
        lag=lag_of(run, progress),
        retrying=progress.retrying,
        dead=progress.dead,
        committed=progress.committed,
        oldest_ms=_age_ms(view, keys, run, progress.committed, now_ms),
        ended=is_ended(definition, run, progress),
        owner_epoch=progress.epoch,
        done=progress.done,
        failed=progress.failed,
        expired=progress.expired,
        dropped=progress.dropped,
        died=progress.died,
        replayed=progress.replayed,
    )


def _age_ms(view: View, keys: PartKeys, run: QueueRun, position: int, now_ms: int) -> int:
    data = view.get(keys.message(position)) if position < run.next else None
    return 0 if data is None else max(0, now_ms - read_message(data).sent_ms)


def _run_of(view: View, keys: PartKeys) -> QueueRun | None:
    data = view.get(keys.run)
    return None if data is None else read_queue_run(data)
