"""What time does to a partition of a queue: delays end, messages expire, old ones go.

One timer a partition; what is due is done in portions, so that no tick takes long.
"""

from __future__ import annotations

from remuda.partition.keys import number
from remuda.queue.arrivals import admit
from remuda.queue.commands.tally import finish_tracked
from remuda.queue.layout import encode, read_delayed, read_message, read_producer
from remuda.queue.part import Part
from remuda.queue.trees import cut, take_track
from remuda.queue.work import Work

PORTION = 1_000
PRODUCERS = -2
"""What a timer is for that forgets producers."""


def see_to(work: Work, part: Part) -> None:
    """The partition's timer has fired."""
    run = part.run
    run.wake_ms = 0
    delayed = _end_delays(work, part)
    expired = _expire(work, part)
    if delayed < PORTION and expired < PORTION:
        run.ticked_ms = work.now_ms + 1
    if delayed or expired:
        work.wake(part)
    trim(part, PORTION)
    if PORTION in (delayed, expired):
        part.arm(work.now_ms)
    else:
        _arm_for_what_is_next(part)


def trim(part: Part, most: int) -> None:
    """Let go of what every group is done with, beyond what is to be kept; sweep up behind it."""
    run, settings = part.run, part.definition.settings
    end = _end_of_history(part)
    first = min(max(run.first, end - settings.keep_count), run.first + most)
    oldest_ms = part.now_ms - settings.keep_ms
    while first < min(end, run.first + most) and part.message(first).sent_ms <= oldest_ms:
        first += 1
    if first > run.first:
        run.trimmed_ms = part.message(first - 1).sent_ms
        run.first = first
    sweep(part, most)


def sweep(part: Part, most: int) -> None:
    """Make room of messages that are gone."""
    run, state, keys = part.run, part.state, part.keys
    end = min(run.first, run.swept + most)
    for position in range(run.swept, end):
        place = keys.message(position)
        if run.expiring:
            _forget_expiry(part, position, state.get(place))
        if run.spent and state.get(keys.spent(position)) is not None:
            state.delete(keys.spent(position))
            run.spent -= 1
        take_track(part, position)
        state.delete(place)
    run.swept = max(run.swept, end)


def arm_for_history(part: Part) -> None:
    """Something may be due that was not before, though not sooner than history grows old."""
    wake_ms = part.run.wake_ms
    if not wake_ms or wake_ms > part.now_ms + part.definition.settings.keep_ms:
        _arm_for_what_is_next(part)


def forget_producers(work: Work, part: Part) -> None:
    keep_ms = part.definition.settings.producer_keep_ms
    kept = False
    for key, value in list(part.state.scan(*part.keys.all_producers())):
        if read_producer(value).at_ms + keep_ms <= work.now_ms:
            part.state.delete(key)
        else:
            kept = True
    part.run.producers = kept
    if kept:
        forget_producers_later(part)


def forget_producers_later(part: Part) -> None:
    at_ms = part.now_ms + part.definition.settings.producer_keep_ms
    payload = encode((part.name, part.index, PRODUCERS))
    part.state.set_timer(at_ms, part.keys.producers, payload)


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _end_delays(work: Work, part: Part) -> int:
    run, keys = part.run, part.keys
    start, end = keys.delayed(run.ticked_ms), keys.delayed(work.now_ms + 1)
    due = list(part.state.scan(start, end, limit=PORTION))
    for key, value in due:
        part.state.delete(key)
        delayed = read_delayed(value)
        if delayed.number < run.delayed_first:
            if delayed.tree >= 0:
                cut(work, part, delayed.tree)
        else:
            run.delayed -= 1
            admit(work, part, delayed.message, delayed.tree, delayed.track)
    return len(due)


def _expire(work: Work, part: Part) -> int:
    run, keys = part.run, part.keys
    start, end = keys.expiry(run.ticked_ms), keys.expiry(work.now_ms + 1)
    due = [key for key, _ in part.state.scan(start, end, limit=PORTION)]
    for key in due:
        part.state.delete(key)
        run.expiring -= 1
        position = number(key, len(key) - 8)
        if position >= run.first:
            part.spend(position)
            finish_tracked(work, part, (position,))
    return len(due)


def _arm_for_what_is_next(part: Part) -> None:
    run = part.run
    due = [part.now_ms] if run.swept < run.first else []
    for start in (part.keys.delayed(run.ticked_ms), part.keys.expiry(run.ticked_ms)):
        for key, _ in part.state.scan(start, part.keys.end_of(start), limit=1):
            due.append(number(key, len(key) - 16))
    if run.first < _end_of_history(part):
        due.append(part.message(run.first).sent_ms + part.definition.settings.keep_ms)
    if due:
        part.arm(min(due))


def _end_of_history(part: Part) -> int:
    """The first position that somebody still needs, as a message or as a root."""
    every = part.every_progress()
    if not every:
        return part.run.first
    end = min(progress.run.committed for progress in every)
    root = part.oldest_root()
    return max(part.run.first, end if root is None else min(end, root))


def _forget_expiry(part: Part, position: int, data: bytes | None) -> None:
    if data is None:
        return
    expires_ms = read_message(data).expires_ms
    if not expires_ms:
        return
    key = part.keys.expiry(expires_ms, position)
    if part.state.get(key) is not None:
        part.state.delete(key)
        part.run.expiring -= 1
