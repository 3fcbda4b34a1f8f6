"""What every command on queues answers, and the ways to say no."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.limits import OPEN_MAX
from remuda.queue.part import Part
from remuda.queue.progress import Progress
from remuda.queue.work import Work


class Command(Struct, frozen=True, array_like=True, tag_field="type"):
    """Data that asks for a change. Each has a file of its own in `commands/`."""

    def apply(self, work: Work) -> object:
        """Change the state; the answer, or `Rejected`. Pure, and never an exception."""
        raise NotImplementedError


class Nothing(Struct, frozen=True, array_like=True):
    """There is nothing to say but that it is done."""


class OnPart(Command, frozen=True):
    queue: str
    part: int
    version: int
    """Of the definition that the proposer went by; 0: it knows none."""

    def load(self, work: Work) -> Part | Rejected:
        part = work.part(self.queue, self.part) if self.part >= 0 else None
        if part is not None and part.definition.version >= self.version:
            return part
        if self.version > 0 and work.home_of(self.queue, max(self.part, 0)) == work.stamp.partition:
            return Rejected(
                f"version {self.version} of queue {self.queue} has not come to partition "
                f"{self.part} yet: try again",
                Rejection.STALE,
            )
        return Rejected(
            f"there is no partition {self.part} of a queue {self.queue} here: "
            "create the queue, or look at how many partitions it has",
            Rejection.NOT_FOUND,
        )


class OnGroup(OnPart, frozen=True):
    group: str

    def load_group(self, work: Work) -> tuple[Part, Progress] | Rejected:
        part = self.load(work)
        if isinstance(part, Rejected):
            return part
        progress = part.progress(self.group)
        if progress is None:
            return Rejected(
                f"queue {self.queue} has no group {self.group}: create the group",
                Rejection.NOT_FOUND,
            )
        return part, progress


class ByOwner(OnGroup, frozen=True):
    """On behalf of the worker that owns the partition for the group, and has attached."""

    epoch: int
    turn: int

    def load_owned(self, work: Work) -> tuple[Part, Progress] | Rejected:
        found = self.load_group(work)
        if isinstance(found, Rejected):
            return found
        run = found[1].run
        if self.epoch != run.epoch or self.epoch < 0:
            return Rejected(
                f"partition {self.part} of {self.queue} is owned for {self.group} at epoch "
                f"{run.epoch}, not {self.epoch}: attach, unless somebody else has it now",
                Rejection.STALE,
            )
        if self.turn != run.turn:
            return Rejected(
                f"group {self.group} was rewound in partition {self.part} of {self.queue} since "
                "this was taken: drop it and take again",
                Rejection.STALE,
            )
        return found


def out_of_order(position: int, progress: Progress) -> Rejected:
    return Rejected(
        f"the message at {position} comes after one of its key that group {progress.group} is not "
        "done with: finish that one first"
    )


def too_far(progress: Progress, new_holes: int) -> Rejected | None:
    run = progress.run
    if run.holes + new_holes <= OPEN_MAX:
        return None
    return Rejected(
        f"group {progress.group} would leave {run.holes + new_holes} messages behind, and "
        f"{OPEN_MAX} are allowed: finish {run.committed} first",
        Rejection.EXHAUSTED,
    )


def beyond(position: int, part: Part) -> Rejected:
    return Rejected(
        f"partition {part.index} of {part.name} has no message at {position}: it keeps "
        f"{part.run.first} to {part.run.next - 1}",
        Rejection.OUT_OF_RANGE,
    )


def encode_command(command: Command) -> bytes:
    return _encode(command)


_encode = msgspec.msgpack.Encoder().encode
