"""`deliver`: messages that handlers elsewhere have made, out of the outbox.

They were promised when the handler's work was committed, so nothing refuses them: not a seal, not
a limit of this queue. If the queue is not known here yet, they wait until it is.
"""

from __future__ import annotations

from msgspec import Struct

from remuda.partition.keys import u64
from remuda.partition.machine import Rejected
from remuda.queue.arrivals import receive, twin_of
from remuda.queue.command import Command, Nothing, encode_command
from remuda.queue.commands.tally import Tallies
from remuda.queue.layout import limbo
from remuda.queue.limits import EMITTED_BYTES_MAX, wrong_message, wrong_part, wrong_track
from remuda.queue.model import NewMessage, Track
from remuda.queue.work import Work


class Made(Struct, frozen=True, array_like=True):
    message: NewMessage
    track: Track | None = None


class Deliver(Command, frozen=True, tag="deliver"):
    queue: str
    part: int
    made: tuple[Made, ...]

    def apply(self, work: Work) -> Nothing | Rejected:
        wrong = wrong_part(self.part)
        if wrong is not None:
            return wrong
        for made in self.made:
            wrong = wrong_message(made.message, EMITTED_BYTES_MAX) or wrong_track(made.track)
            if wrong is not None:
                return wrong
        part = work.part(self.queue, self.part)
        if part is None:
            place = limbo(self.queue, self.part) + u64(work.stamp.position)
            work.state.put(place, encode_command(self))
            return Nothing()
        tallies = Tallies()
        for made in self.made:
            if made.message.dedup and twin_of(part, made.message.dedup) is not None:
                part.run.duplicates += 1
                if made.track is not None:
                    tallies.finished(made.track)
            else:
                receive(work, part, made.message, made.track)
        tallies.tell(work)
        work.wake(part)
        return Nothing()
