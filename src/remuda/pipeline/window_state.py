"""What a window of a task does with rows: the state machine that every executor shares.

`Windowed` keeps nothing itself. Its caller keeps what the windows of one group hold (`Held`, by
extent), wherever that may be, and hands it over with each call. A call changes it in place and
answers the rows that triggers emit, in the order in which they fired.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from msgspec import Struct

from remuda.pipeline.aggregations import Aggregation, named, result_of
from remuda.pipeline.durations import seconds_of
from remuda.pipeline.flow import Holds, predicate
from remuda.pipeline.functions import Functions, Row, rows_of
from remuda.pipeline.model import job as model
from remuda.pipeline.model.job import Duration, Job, Task, Trigger, Window
from remuda.pipeline.windows import EVERYTHING, SECOND, Extent, extents, is_within, microseconds


class Content(Struct, frozen=True):
    """What a trigger's functions are given."""

    window: str
    trigger: str
    group: Any
    # None for a global window; for a session, its first and its last event.
    start: Fraction | None
    end: Fraction | None
    value: Any


class Kept(Struct):
    """A window of a group: its aggregate, and how many rows came since each trigger fired."""

    value: Any
    since: dict[str, int] = {}


Held: TypeAlias = dict[Extent, Kept]


class Windowed:
    """One window of a task, with its triggers."""

    def __init__(self, job: Job, task: Task, window: Window, functions: Functions) -> None:
        self.window = window
        self._gap = _microseconds(window.gap)
        self._range = _microseconds(window.range)
        self._slide = self._range if window.slide is None else _microseconds(window.slide)
        self.triggers = [Firing(t, functions) for t in job.triggers if t.window == window.id]
        self._group_by = task.group_by
        self._name, self.aggregation = aggregation_of(window.aggregation, functions)
        self._group_fn = None if task.group_by_fn is None else functions.find(task.group_by_fn)

    def group_of(self, row: Row) -> Any:
        if self._group_fn is not None:
            return self._group_fn(row)
        match self._group_by:
            case None:
                return None
            case str() as column:
                return row.get(column)
            case columns:
                return tuple(row.get(column) for column in columns)

    def at(self, row: Row) -> int | None:
        """When a row happened, in microseconds; None for one that is in no window."""
        if self.window.time is None:
            return 0
        time = row.get(self.window.time)
        return None if time is None else microseconds(time)

    def add(self, held: Held, group: Any, at: int, row: Row) -> list[Row]:
        """A row of the group has come."""
        emitted: list[Row] = []
        for extent in self._extents(held, at):
            kept = held[extent]
            change = self.aggregation.update(kept.value, row)
            kept.value = self.aggregation.apply(kept.value, change)
            for firing in self.triggers:
                kept.since[firing.id] = kept.since.get(firing.id, 0) + 1
                if firing.is_due(row, kept.since[firing.id]):
                    emitted += self._fire(firing, group, extent, kept)
        return emitted

    def finish(self, held: Held, group: Any) -> list[Row]:
        """No row will come any more: every trigger fires for what came since it last did."""
        return self._last(held, group, sorted(held))

    def complete(self, held: Held, group: Any, watermark: int) -> list[Row]:
        """No row before the watermark will come any more: windows that end there are done."""
        return self._last(held, group, sorted(e for e in held if self.ends(e) <= watermark))

    def tick(self, held: Held, group: Any) -> list[Row]:
        """The period of the timers is over."""
        emitted: list[Row] = []
        for extent in sorted(held):
            for firing in self.triggers:
                if firing.on == "timer" and held[extent].since.get(firing.id):
                    emitted += self._fire(firing, group, extent, held[extent])
        return emitted

    def ends(self, extent: Extent) -> int:
        """From when on no row can be in a window; a session may be extended up to its gap."""
        return extent.end + self._gap + 1 if self.window.type == "session" else extent.end

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _last(self, held: Held, group: Any, done: Iterable[Extent]) -> list[Row]:
        emitted: list[Row] = []
        for extent in done:
            kept = held.pop(extent)
            for firing in self.triggers:
                if kept.since.get(firing.id):
                    emitted += self._fire(firing, group, extent, kept)
        return emitted

    def _fire(self, firing: Firing, group: Any, extent: Extent, kept: Kept) -> list[Row]:
        kept.since[firing.id] = 0
        bounded = self.window.type != "global"
        content = Content(
            self.window.id,
            firing.id,
            group,
            Fraction(extent.start, SECOND) if bounded else None,
            Fraction(extent.end, SECOND) if bounded else None,
            result_of(self._name, kept.value),
        )
        if firing.discards:
            kept.value = self.aggregation.init()
        return firing.act(content)

    def _extents(self, held: Held, at: int) -> Sequence[Extent]:
        """The windows that an event is in, made where they are not there yet."""
        if self.window.type == "session":
            return [self._session(held, at)]
        whole = self.window.type == "global"
        found = [EVERYTHING] if whole else extents(at, self._range, self._slide)
        for extent in found:
            if extent not in held:
                held[extent] = Kept(self.aggregation.init())
        return found

    def _session(self, held: Held, at: int) -> Extent:
        """The session that an event extends, or begins, or makes of several."""
        near = sorted(extent for extent in held if is_within(extent, at, self._gap))
        merged = Kept(self.aggregation.init())
        for number, extent in enumerate(near):
            old = held.pop(extent)
            merged.value = self.aggregation.merge(merged.value, old.value) if number else old.value
            for trigger, count in old.since.items():
                merged.since[trigger] = merged.since.get(trigger, 0) + count
        grown = Extent(
            min([at, *(extent.start for extent in near)]),
            max([at, *(extent.end for extent in near)]),
        )
        held[grown] = merged
        return grown


class Firing:
    """A trigger: when it fires, and what it does then."""

    def __init__(self, trigger: Trigger, functions: Functions) -> None:
        self.id = trigger.id
        self.on: model.Firing = trigger.on
        self.discards = trigger.refinement == "discarding"
        self.emit = None if trigger.emit is None else functions.find(trigger.emit)
        self._threshold = trigger.threshold or 1
        self._holds: Holds = predicate(trigger.predicate, functions)
        self._sync = None if trigger.sync is None else functions.find(trigger.sync)

    def is_due(self, row: Row, since: int) -> bool:
        match self.on:
            case "segments":
                return since >= self._threshold
            case "punctuation":
                return self._holds(row, {})
            case "timer" | "watermark":
                return False

    def act(self, content: Content) -> list[Row]:
        if self._sync is not None:
            self._sync(content)
        return [] if self.emit is None else rows_of(self.emit(content))


class Groups:
    """What the windows of all groups hold, in memory."""

    def __init__(self, windowed: Windowed) -> None:
        self._windowed = windowed
        self._held: dict[Any, Held] = {}

    def add(self, row: Row) -> list[Row]:
        at = self._windowed.at(row)
        if at is None:
            return []
        group = self._windowed.group_of(row)
        return self._windowed.add(self._held.setdefault(group, {}), group, at, row)

    def finish(self) -> list[Row]:
        emitted: list[Row] = []
        for group, held in self._held.items():
            emitted += self._windowed.finish(held, group)
        return emitted


def aggregation_of(written: Any, functions: Functions) -> tuple[str | None, Aggregation]:
    """How a window's aggregation is called, if it is one of ours, and what it does."""
    match written:
        case [str() as name, str() as column]:
            return name, named(name, column)
        case str() if ":" not in written:
            return written, named(written, None)
        case _:
            return None, functions.find(written)


def _microseconds(duration: Duration | None) -> int:
    seconds = seconds_of(duration or 0)
    assert seconds is not None
    return int(seconds * SECOND)
