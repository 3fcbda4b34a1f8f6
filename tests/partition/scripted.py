"""A machine for tests: its commands are little programs, so that Hypothesis can write them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec
from msgspec import Struct

from remuda.partition.keys import after
from remuda.partition.machine import (
    Applied,
    Effect,
    Outcome,
    Rejected,
    Rejection,
    Stamp,
    State,
    View,
)


class Put(Struct, frozen=True, tag=True):
    key: bytes
    value: bytes = b""


class Delete(Struct, frozen=True, tag=True):
    key: bytes


class Sweep(Struct, frozen=True, tag=True):
    """Scan, and write ahead and behind while scanning: every other is deleted."""

    reverse: bool = False
    limit: int | None = None


class Later(Struct, frozen=True, tag=True):
    """Do something else at a time, by a timer."""

    at_ms: int
    name: bytes
    then: list[AnyStep] = []


class Never(Struct, frozen=True, tag=True):
    name: bytes


class Send(Struct, frozen=True, tag=True):
    to: int
    what: list[AnyStep]


class Tell(Struct, frozen=True, tag=True):
    """An effect; opened with as many as there are keys that begin with `tell`."""

    word: str


class Refuse(Struct, frozen=True, tag=True): ...


class Break(Struct, frozen=True, tag=True): ...


AnyStep: TypeAlias = Put | Delete | Sweep | Later | Never | Send | Tell | Refuse | Break

P = b"s"


class Scripted:
    """Answers the number of its keys that begin with what the last `Put` wrote."""

    name = "scripted"
    prefix = P

    def apply(self, state: State, command: bytes, stamp: Stamp) -> Outcome:
        try:
            steps = msgspec.msgpack.decode(command, type=list[AnyStep])
        except msgspec.DecodeError as error:
            return Rejected(f"that is no program: {error}", Rejection.INVALID)
        return _run(state, steps, stamp)

    def fire(self, state: State, key: bytes, payload: bytes, stamp: Stamp) -> Applied:
        state.put(P + b"fired" + key, str(stamp.at_ms).encode())
        outcome = _run(state, msgspec.msgpack.decode(payload, type=list[AnyStep]), stamp)
        return outcome if isinstance(outcome, Applied) else Applied()

    def opened(self, view: View) -> Iterable[Effect]:
        return [key.decode() for key, _ in view.scan(P + b"tell", after(P + b"tell"))]


def program(*steps: AnyStep) -> bytes:
    return msgspec.msgpack.encode(list(steps))


def _run(state: State, steps: list[AnyStep], stamp: Stamp) -> Outcome:
    effects: list[str] = []
    answer = b""
    for step in steps:
        match step:
            case Put(key, value):
                state.put(P + key, value)
                answer = str(sum(1 for _ in state.scan(P + key, after(P + key)))).encode()
            case Delete(key):
                state.delete(P + key)
            case Sweep(reverse, limit):
                _sweep(state, reverse, limit, stamp)
            case Later(at_ms, name, then):
                state.set_timer(at_ms, name, program(*then))
            case Never(name):
                state.clear_timer(name)
            case Send(to, what):
                state.send(to, program(*what))
            case Tell(word):
                effects.append(word)
            case Refuse():
                return Rejected("as it was told to", Rejection.PRECONDITION)
            case Break():
                raise ZeroDivisionError("as it was told to")
    return Applied(answer, effects)


def _sweep(state: State, reverse: bool, limit: int | None, stamp: Stamp) -> None:
    seen = 0
    for key, value in state.scan(P, after(P), limit=limit, reverse=reverse):
        seen += 1
        if seen > 20:
            break
        if seen % 2:
            state.delete(key)
        else:
            state.put(key + b"+", value[:1])
            state.put(key[:-1] + b"!", b"behind, or ahead")
    state.put(P + b"swept", b"%d at %d" % (seen, stamp.position))
