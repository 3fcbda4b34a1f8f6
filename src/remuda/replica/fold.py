"""Playing entries: the fold that makes a replica of a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from remuda.replica.command import Rejected
from remuda.replica.commands import COMMANDS, AnyCommand
from remuda.replica.entry import Entry
from remuda.replica.facts import Fact
from remuda.replica.state import PeerId, Replica


class Played(Struct, frozen=True):
    """An entry, the replica after it, and what it changed or why it did not."""

    entry: Entry
    replica: Replica
    facts: Sequence[Fact] = ()
    rejected: str | None = None


def play(replica: Replica, entry: Entry) -> Played:
    if entry.position != replica.position + 1:
        raise AssertionError(
            f"entry {entry.position} cannot follow position {replica.position} of the replica"
        )
    outcome = entry.command.apply(replica, entry.stamp)
    if isinstance(outcome, Rejected):
        return Played(entry, replace(replica, position=entry.position), rejected=outcome.reason)
    new = replace(outcome, position=entry.position)
    return Played(entry, new, entry.command.diff(replica, new))


def reactions(replica: Replica, me: PeerId) -> Iterator[AnyCommand]:
    """All that `me` owes the log as things stand, in an order that all builds share."""
    for command in COMMANDS:
        yield from command.reactions(replica, me)  # type: ignore[misc]
