"""How a message comes into a partition: once, now or later."""

from __future__ import annotations

from remuda.queue.layout import encode, read_remembered
from remuda.queue.model import Delayed, Message, NewMessage, Remembered, Track
from remuda.queue.part import Part
from remuda.queue.trees import new_tree, plant
from remuda.queue.work import Work

# Ids that leave the window for one that enters it: more than one, so that a window that was made
# smaller becomes so.
_EVICTED_AT_ONCE = 4


def receive(work: Work, part: Part, new: NewMessage, track: Track | None = None) -> tuple[int, int]:
    """Take in a message that is not there yet; its position and tree, -1 if it has none."""
    part.run.sent += 1
    part.run.sent_bytes += len(new.body)
    tree = new_tree(part, new.track_ms) if new.track_ms else -1
    if new.delay_ms:
        position = -1
        _delay(work, part, new, tree, track)
    else:
        position = admit(work, part, new, tree, track)
    if new.dedup:
        _remember(part, new.dedup, Remembered(position, work.now_ms, part.run.dedup_next, tree))
    return position, tree


def admit(work: Work, part: Part, new: NewMessage, tree: int, track: Track | None) -> int:
    """Give a message its position."""
    ttl_ms = new.ttl_ms or part.definition.settings.ttl_ms
    message = Message(
        work.now_ms,
        new.body,
        new.key,
        new.headers,
        new.dedup,
        work.now_ms + ttl_ms if ttl_ms else 0,
        track,
    )
    return part.append(message) if tree < 0 else plant(work, part, tree, message)


def twin_of(part: Part, dedup: str) -> Remembered | None:
    """What was sent with the same id, if the window still has it."""
    data = part.state.get(part.keys.dedup(dedup))
    if data is None:
        return None
    found = read_remembered(data)
    return found if _is_in_window(part, found) else None


# ── inside ───────────────────────────────────────────────────────────────────────────────────


def _delay(work: Work, part: Part, new: NewMessage, tree: int, track: Track | None) -> None:
    run = part.run
    due_ms = work.now_ms + new.delay_ms
    delayed = Delayed(run.delayed_next, new, tree, track)
    part.state.put(part.keys.delayed(due_ms, delayed.number), encode(delayed))
    run.delayed += 1
    run.delayed_next += 1
    part.arm(due_ms)


def _remember(part: Part, dedup: str, remembered: Remembered) -> None:
    run = part.run
    part.state.put(part.keys.dedup(dedup), encode(remembered))
    part.state.put(part.keys.window(run.dedup_next), dedup.encode())
    run.dedup_next += 1
    for _ in range(_EVICTED_AT_ONCE):
        if run.dedup_first == run.dedup_next or not _evict(part):
            break


def _evict(part: Part) -> bool:
    """Forget the oldest id, if the window does not reach to it."""
    oldest = part.state.get(part.keys.window(part.run.dedup_first))
    assert oldest is not None
    key = part.keys.dedup(oldest.decode())
    data = part.state.get(key)
    found = None if data is None else read_remembered(data)
    # An id that was sent again after its time has a later place, and keeps it.
    if found is not None and found.number == part.run.dedup_first:
        if _is_in_window(part, found):
            return False
        part.state.delete(key)
    part.state.delete(part.keys.window(part.run.dedup_first))
    part.run.dedup_first += 1
    return True


def _is_in_window(part: Part, remembered: Remembered) -> bool:
    settings = part.definition.settings
    return (
        part.now_ms - remembered.at_ms < settings.dedup_ms
        and part.run.dedup_next - remembered.number <= settings.dedup_count
    )
