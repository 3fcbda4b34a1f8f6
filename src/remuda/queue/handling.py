"""What a worker does about one partition that it owns: a state machine without I/O.

It is told what has been taken and how handlers fared. It answers with runs to begin, and with what
to report to the partition: one report at a time, so that all that is done meanwhile goes together.

State: for each key those that wait, in order; which keys have a handler at work; what is done and
not reported yet; which failures have not been told yet.

Invariants:
- Of one key at most one run is at work, and it is the first of those that are here.
- Reports are made in the order in which handlers ended. So when a later message of a key is told
  to have failed, those before it are committed.
- What waits behind a failure (all of the partition, or the key) is given back, not begun, and it
  is given back after the failure is told: until then the partition would hand it out again.
- After a rewind or purge nothing is reported of what was taken before. Its handlers still keep
  their keys busy, so that no key is handled twice at once.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence

from remuda.queue.model import Blocks
from remuda.queue.reports import (
    COMMITTED_MAX,
    EMITS_MAX,
    EMITTED_BYTES_MAX,
    Done,
    Emitted,
    GiveBack,
    Report,
    ReportDone,
    ReportFailed,
    Run,
)
from remuda.queue.takeable import Taken


class Handling:
    def __init__(self, blocks: Blocks = "partition", *, batch: int = 1) -> None:
        self.blocks: Blocks = blocks
        self.turn = -1
        self._batch = batch
        self._numbers = 0
        self._runs: dict[int, Run] = {}
        self._busy: set[str] = set()
        # Every position of this turn that is here: it waits, is at work, or is not reported yet.
        self._here: dict[int, Taken] = {}
        self._ready: list[int] = []
        self._startable: set[int] = set()
        self._lines: dict[str, deque[Taken]] = {}
        self._alone: set[int] = set()
        self._failing: dict[int, str] = {}
        self._reports: deque[Done | ReportFailed] = deque()
        self._singly = 0
        self._given_back: list[int] = []
        self._under_way: Report | None = None
        self._closed = False

    @property
    def held(self) -> int:
        """How many messages of this turn are here."""
        return len(self._here)

    @property
    def is_idle(self) -> bool:
        """No handler is at work, and nothing is left to report."""
        return not self._runs and not self._reports and self._under_way is None

    # ── what happened ────────────────────────────────────────────────────────────────────────

    def arrived(self, turn: int, taken: Iterable[Taken]) -> None:
        """What is here already may come again, from another node: it is passed over."""
        if turn != self.turn:
            self.void(turn)
        for one in taken:
            if one.position in self._here:
                continue
            if self._closed or self._waits_for_failure(one.message.key):
                self._given_back.append(one.position)
            else:
                self._here[one.position] = one
                self._line_up(one)

    def finished(self, number: int, emits: Sequence[Emitted] = ()) -> None:
        """A handler has returned."""
        run = self._runs.pop(number)
        if run.turn == self.turn:
            positions = tuple(one.position for one in run.taken)
            self._alone.difference_update(positions)
            self._reports.append(Done(positions, tuple(emits)))
        self._free(run)

    def failed(self, number: int, error: str, *, final: bool = False) -> None:
        """A handler has raised. If it had several messages, each is tried alone, to find out
        which one it is."""
        run = self._runs.pop(number)
        if run.turn != self.turn:
            self._free(run)
        elif len(run.taken) == 1:
            (one,) = run.taken
            self._fail(one, error, final)
            self._free(run)
        else:
            self._alone.update(one.position for one in run.taken)
            self._go_back(run)

    def gave_up(self, number: int) -> None:
        """A handler was stopped before it came to an end: nothing is known of what it did."""
        run = self._runs.pop(number)
        if run.turn == self.turn:
            self._let_go(one.position for one in run.taken)
        self._free(run)

    def told(self, report: Report) -> None:
        """A report was taken."""
        if report is not self._under_way:
            return
        self._under_way = None
        match report:
            case ReportDone():
                self._forget(report.positions)
            case ReportFailed():
                self._forget([report.position])
                self._failing.pop(report.position, None)
            case GiveBack():
                pass

    def refused(self, report: Report, reason: str) -> None:
        """A report was not taken, and not because its time was over. Of several handlers that
        were reported together, each is reported alone; what one of them made may be wrong, and
        then it has failed. Whatever else was refused is taken again."""
        if report is not self._under_way:
            return
        self._under_way = None
        match report:
            case ReportDone(runs=runs):
                if len(runs) == 1:
                    self._refuse(runs[0], reason)
                else:
                    self._reports.extendleft(reversed(runs))
                    self._singly = len(runs)
            case ReportFailed():
                self._failing.pop(report.position, None)
                self._let_go([report.position])
            case GiveBack():
                pass

    def cut_off(self) -> None:
        """The partition is to be told again what it may not have heard: to commit or to fail
        twice changes nothing. It has forgotten what was taken, so nothing is to be given back."""
        report, self._under_way = self._under_way, None
        self._given_back.clear()
        match report:
            case ReportDone():
                self._reports.extendleft(reversed(report.runs))
            case ReportFailed():
                self._reports.appendleft(report)
            case _:
                pass

    def void(self, turn: int) -> None:
        """The group was rewound, or the partition purged: what was taken before is void."""
        self.turn = turn
        self._here.clear()
        self._drop_all()
        self._alone.clear()
        self._failing.clear()
        self._reports.clear()
        self._given_back.clear()
        self._under_way = None
        self._singly = 0

    def close(self) -> None:
        """Nothing more is begun; what is at work may end and be reported."""
        self._closed = True
        self._forget([*self._drop_all()])
        self._given_back.clear()

    # ── what follows ─────────────────────────────────────────────────────────────────────────

    def begin(self, room: int) -> list[Run]:
        """As many runs as there is room for, to begin now."""
        begun: list[Run] = []
        while len(begun) < room and (taken := self._gather()):
            self._numbers += 1
            run = Run(self._numbers, self.turn, tuple(taken))
            self._runs[run.number] = run
            self._busy.update(one.message.key for one in taken if one.message.key)
            begun.append(run)
        return begun

    def report(self) -> Report | None:
        """What to report next; None while a report is under way, or there is nothing."""
        if self._under_way is not None:
            return None
        if self._reports:
            first = self._reports[0]
            if isinstance(first, ReportFailed):
                self._reports.popleft()
                self._under_way = first
            else:
                self._under_way = ReportDone(self.turn, self._done_together())
        elif self._given_back and not self._failing:
            self._under_way = GiveBack(tuple(self._given_back))
            self._given_back.clear()
        return self._under_way

    # ── lines ────────────────────────────────────────────────────────────────────────────────

    def _line_up(self, one: Taken) -> None:
        key = one.message.key
        if not key:
            self._make_ready(one)
            return
        line = self._lines.setdefault(key, deque())
        if line and line[-1].position > one.position:
            self._unready(line[0])
            line = self._lines[key] = deque(sorted([*line, one], key=_position))
        else:
            line.append(one)
        if key not in self._busy:
            self._make_ready(line[0])

    def _make_ready(self, one: Taken) -> None:
        if one.position not in self._startable:
            self._startable.add(one.position)
            heapq.heappush(self._ready, one.position)

    def _unready(self, one: Taken) -> None:
        self._startable.discard(one.position)

    def _gather(self) -> list[Taken]:
        """The first that can begin, and what can go with it."""
        found: list[Taken] = []
        while len(found) < self._batch and self._ready:
            position = heapq.heappop(self._ready)
            if position not in self._startable:
                continue
            if found and (position in self._alone or found[0].position in self._alone):
                heapq.heappush(self._ready, position)
                break
            self._startable.discard(position)
            one = self._here[position]
            found.append(one)
            line = self._lines.get(one.message.key)
            if line:
                line.popleft()
                if line:
                    self._make_ready(line[0])
                else:
                    del self._lines[one.message.key]
        for one in found:
            line = self._lines.get(one.message.key)
            if line:
                self._unready(line[0])
        return found

    def _free(self, run: Run) -> None:
        """The keys of a run are free for those that come next."""
        for one in run.taken:
            key = one.message.key
            if key:
                self._busy.discard(key)
                if line := self._lines.get(key):
                    self._make_ready(line[0])

    def _go_back(self, run: Run) -> None:
        for one in reversed(run.taken):
            key = one.message.key
            self._busy.discard(key)
            if key:
                line = self._lines.setdefault(key, deque())
                if line:
                    self._unready(line[0])
                line.appendleft(one)
        for one in run.taken:
            if self._closed:
                self._forget([one.position])
            else:
                self._make_ready(self._lines[one.message.key][0] if one.message.key else one)
        if self._closed:
            self._drop_all()

    def _drop_all(self) -> list[int]:
        """What waits, whatever its key."""
        waiting = [one.position for line in self._lines.values() for one in line]
        waiting += [at for at in self._startable if at in self._here and not self._key_of(at)]
        self._lines.clear()
        self._ready.clear()
        self._startable.clear()
        return sorted(waiting)

    def _key_of(self, position: int) -> str:
        return self._here[position].message.key

    # ── reports ──────────────────────────────────────────────────────────────────────────────

    def _done_together(self) -> tuple[Done, ...]:
        runs: list[Done] = []
        positions = emits = size = 0
        while self._reports and isinstance(self._reports[0], Done):
            run = self._reports[0]
            positions += len(run.positions)
            emits += len(run.emits)
            size += sum(len(emit.message.body) for emit in run.emits)
            full = positions > COMMITTED_MAX or emits > EMITS_MAX or size > EMITTED_BYTES_MAX
            if runs and (full or self._singly):
                break
            self._reports.popleft()
            runs.append(run)
        self._singly = max(0, self._singly - 1)
        return tuple(runs)

    def _refuse(self, run: Done, reason: str) -> None:
        by = next((self._here[emit.by] for emit in run.emits), None)
        self._let_go(at for at in run.positions if by is None or at != by.position)
        if by is not None:
            self._fail(by, reason, final=False)

    def _fail(self, one: Taken, error: str, final: bool) -> None:
        self._alone.discard(one.position)
        self._failing[one.position] = one.message.key
        self._reports.append(ReportFailed(self.turn, one.position, one.attempt, error, final))
        if self.blocks == "partition":
            self._let_go(self._drop_all())
        elif one.message.key and (line := self._lines.pop(one.message.key, None)):
            self._unready(line[0])
            self._let_go(waiting.position for waiting in line)

    def _waits_for_failure(self, key: str) -> bool:
        if not self._failing:
            return False
        return self.blocks == "partition" or (bool(key) and key in self._failing.values())

    def _let_go(self, positions: Iterable[int]) -> None:
        gone = [position for position in positions if position in self._here]
        self._forget(gone)
        self._given_back += gone

    def _forget(self, positions: Iterable[int]) -> None:
        for position in positions:
            self._here.pop(position, None)
            self._alone.discard(position)


def _position(one: Taken) -> int:
    return one.position
