"""Playing commands: the fold that makes a partition's state of its log.

Beside the machines' commands there are three of the partition's own: *tick* hands due timers to
their machines, *received* is a command out of another partition's outbox, *acked* says that what
was sent has arrived. All are in the log, so that playing it again gives the same state.

The partition's own part of the state lies under `OWN`:

    t due machine key   → payload       timers, by time
    k machine key       → due           timers, by key
    o partition number  → machine+body  the outbox
    n partition         → number        the last that was sent there
    r partition         → number        the last that was received from there
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct as Layout

from msgspec import Struct

from remuda.errors import UnknownMachine
from remuda.partition.keys import after, number, u64
from remuda.partition.machine import Applied, Effect, Machine, Outcome, Rejected, Stamp
from remuda.partition.overlay import Overlay, Reads

OWN = b"\x01"
STATE = (OWN, b"\x7f")
"""The range of all keys of the state, the partition's own included."""

TICK = b"\x01"
RECEIVED = b"\x02"
ACKED = b"\x03"

# A tick that fires more would keep the next round waiting: another tick follows at once.
TIMERS_PER_TICK = 256

_TIMERS = OWN + b"t"
_TIMER_KEYS = OWN + b"k"
_OUTBOX = OWN + b"o"
_SENT = OWN + b"n"
_HEARD = OWN + b"r"
# Later than any clock tells, and a tick for it still has a number.
_NEVER_MS = 2**63
_HEADER = Layout(">cQQ")
_PAIR = Layout(">QQ")


class Record(Struct, frozen=True):
    """A command as it is kept: whose it is, when and under which owner it was applied."""

    kind: bytes
    at_ms: int
    epoch: int
    body: bytes

    def encode(self) -> bytes:
        return _HEADER.pack(self.kind, self.at_ms, self.epoch) + self.body

    @staticmethod
    def decode(data: bytes) -> Record:
        kind, at_ms, epoch = _HEADER.unpack_from(data)
        return Record(kind, at_ms, epoch, data[_HEADER.size :])


class Parcel(Struct, frozen=True):
    """An outbox entry on its way: the sender's number, and whose command it is."""

    number: int
    machine: bytes
    command: bytes


def received(sender: int, parcel: Parcel) -> bytes:
    """The body of a *received* record."""
    return _PAIR.pack(sender, parcel.number) + parcel.machine + parcel.command


def acked(partition: int, up_to: int) -> bytes:
    """The body of an *acked* record."""
    return _PAIR.pack(partition, up_to)


class News:
    """What whoever runs a fold should look at again. May tell too much, never too little."""

    def __init__(self) -> None:
        self.timers = True
        """Timers were set or cleared."""
        self.due_from_ms = 0
        """No timer is due before: whoever looks for the first one need not step over all that
        have been."""
        self.sent_to: set[int] = set()
        """Partitions that something was put in the outbox for."""


class Fold:
    """Plays records over one overlay. Pure: what it needs of the world is in the records."""

    def __init__(self, partition: int, machines: Sequence[Machine], below: Reads) -> None:
        self.overlay = Overlay(below)
        self.effects: list[tuple[str, Sequence[Effect]]] = []
        """By machine, in order; whoever runs them takes them out."""
        self.news = News()
        self._partition = partition
        self._machines = {machine.prefix: machine for machine in machines}
        if len(self._machines) < len(machines) or not all(map(_is_prefix, self._machines)):
            raise ValueError(f"prefixes are one printable byte each: {sorted(self._machines)}")
        self._states = {
            machine.prefix: MachineState(self.overlay, machine.prefix, self.news)
            for machine in machines
        }

    def play(self, position: int, record: Record) -> Outcome:
        """The state is changed, or as it was if the outcome is `Rejected`."""
        stamp = Stamp(self._partition, position, record.at_ms, record.epoch)
        if record.kind == TICK:
            outcome = self._tick(stamp)
        elif record.kind == RECEIVED:
            outcome = self._received(record.body, stamp)
        elif record.kind == ACKED:
            outcome = self._acked(record.body)
        else:
            outcome = self._apply(record.kind, record.body, stamp)
        self.overlay.settle()
        return outcome

    def opened(self) -> list[tuple[str, Sequence[Effect]]]:
        """What the state as it stands calls for, by machine."""
        return [
            (machine.name, list(machine.opened(self.overlay)))
            for machine in self._machines.values()
        ]

    def next_due_ms(self) -> int | None:
        """When the next timer is due."""
        start = _TIMERS + u64(self.news.due_from_ms)
        for key, _ in self.overlay.scan(start, after(_TIMERS), limit=1):
            self.news.due_from_ms = number(key, len(_TIMERS))
            return self.news.due_from_ms
        self.news.due_from_ms = _NEVER_MS
        return None

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _apply(self, prefix: bytes, command: bytes, stamp: Stamp) -> Outcome:
        machine = self._machine(prefix)
        mark = self.overlay.mark()
        outcome = machine.apply(self._states[prefix], command, stamp)
        if isinstance(outcome, Rejected):
            self.overlay.rollback(mark)
        elif outcome.effects:
            self.effects.append((machine.name, outcome.effects))
        return outcome

    def _tick(self, stamp: Stamp) -> Applied:
        overlay = self.overlay
        self.news.timers = True
        start = _TIMERS + u64(self.news.due_from_ms)
        end = _TIMERS + u64(stamp.at_ms + 1)
        due = [key for key, _ in overlay.scan(start, end, limit=TIMERS_PER_TICK)]
        for place in due:
            payload = overlay.get(place)
            if payload is None:  # cleared or moved by one that fired before it
                continue
            name = place[len(_TIMERS) + 8 :]
            overlay.delete(place)
            overlay.delete(_TIMER_KEYS + name)
            machine = self._machine(name[:1])
            applied = machine.fire(self._states[name[:1]], name[1:], payload, stamp)
            if applied.effects:
                self.effects.append((machine.name, applied.effects))
        return Applied()

    def _received(self, body: bytes, stamp: Stamp) -> Outcome:
        sender, count = _PAIR.unpack_from(body)
        last = last_heard(self.overlay, sender)
        if count != last + 1:
            return Rejected(f"number {count} from partition {sender} does not follow {last}")
        self.overlay.put(_HEARD + u64(sender), u64(count))
        prefix = body[_PAIR.size : _PAIR.size + 1]
        self._apply(prefix, body[_PAIR.size + 1 :], stamp)
        return Applied()

    def _acked(self, body: bytes) -> Outcome:
        partition, up_to = _PAIR.unpack(body)
        start = _OUTBOX + u64(partition)
        gone = [key for key, _ in self.overlay.scan(start, start + u64(up_to + 1))]
        for key in gone:
            self.overlay.delete(key)
        return Applied() if gone else Rejected("nothing waits for it any more")

    def _machine(self, prefix: bytes) -> Machine:
        machine = self._machines.get(prefix)
        if machine is None:
            raise UnknownMachine(
                f"partition {self._partition} has a command of machine {prefix!r}, which this "
                "build does not have; run the build that wrote it, or a later one"
            )
        return machine


class MachineState:
    """The state as one machine sees it: the overlay, and its own timers and outbox."""

    def __init__(self, overlay: Overlay, prefix: bytes, news: News) -> None:
        self.get = overlay.get
        self.scan = overlay.scan
        self.put = overlay.put
        self.delete = overlay.delete
        self._prefix = prefix
        self._news = news

    def set_timer(self, at_ms: int, key: bytes, payload: bytes = b"") -> None:
        self.clear_timer(key)
        name = self._prefix + key
        due_ms = min(max(at_ms, 0), _NEVER_MS)
        self.put(_TIMERS + u64(due_ms) + name, payload)
        self.put(_TIMER_KEYS + name, u64(due_ms))
        self._news.timers = True
        self._news.due_from_ms = min(self._news.due_from_ms, due_ms)

    def clear_timer(self, key: bytes) -> None:
        name = self._prefix + key
        due = self.get(_TIMER_KEYS + name)
        if due is not None:
            self.delete(_TIMERS + due + name)
            self.delete(_TIMER_KEYS + name)
            self._news.timers = True

    def send(self, partition: int, command: bytes) -> None:
        place = u64(partition)
        last = self.get(_SENT + place)
        next_number = u64(1 if last is None else number(last) + 1)
        self.put(_SENT + place, next_number)
        self.put(_OUTBOX + place + next_number, self._prefix + command)
        self._news.sent_to.add(partition)


def _is_prefix(data: bytes) -> bool:
    return len(data) == 1 and b" " <= data < STATE[1]


# ── the partition's own part, read ───────────────────────────────────────────────────────────


def last_heard(state: Reads, sender: int) -> int:
    """The number of the last command that came from a partition; 0 before the first."""
    data = state.get(_HEARD + u64(sender))
    return 0 if data is None else number(data)


def outbox(state: Reads, partition: int, arrived: int = 0) -> Iterator[Parcel]:
    """What waits for a partition beyond the number that has arrived, oldest first."""
    place = _OUTBOX + u64(partition)
    for key, value in state.scan(place + u64(arrived + 1), after(place)):
        yield Parcel(number(key, len(place)), value[:1], value[1:])


def addressees(state: Reads) -> Iterator[int]:
    """The partitions that something waits for."""
    at, end = _OUTBOX, after(_OUTBOX)
    while (found := next(state.scan(at, end), None)) is not None:
        partition = number(found[0], len(_OUTBOX))
        yield partition
        at = after(_OUTBOX + u64(partition))
