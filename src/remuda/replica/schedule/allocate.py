"""Counts → slots, moving as few as the counts allow.

A slot keeps its task wherever it can. Beyond that, a task that lacks slots gets them from its own
job first, then from those that do nothing, and then from other jobs. Where nothing else decides,
names do: of slots that are alike, the first by name keep their task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from remuda.replica.schedule.demand import JobDemand, JobId
from remuda.replica.schedule.flow import Network
from remuda.replica.schedule.room import Kind, Lane, kinds
from remuda.replica.schedule.slots import Place, Places, Slot, SlotId


def allocate(
    slots: Iterable[Slot],
    jobs: Sequence[JobDemand],
    counts: Mapping[Lane, int],
    previous: Places,
) -> dict[SlotId, Place]:
    """Which slot does what. `counts` must fit, as those of a `Room` for these slots and jobs do."""
    herds = _herds(kinds(slots, jobs), previous)
    names = {(job.job, n): task.task for job in jobs for n, task in enumerate(job.tasks)}
    lanes = {lane: Place(lane.job, names[lane.job, lane.task]) for lane in sorted(counts)}
    places: dict[SlotId, Place] = {}
    for herd, lane, amount in _cheapest(herds, lanes, counts):
        for slot in herds[herd][:amount]:
            places[slot] = lanes[lane]
        del herds[herd][:amount]
    return dict(sorted(places.items()))


class _Herd(NamedTuple):
    """Slots that are alike and do the same."""

    kind: Kind
    at: Place | None


def _herds(alike: Mapping[Kind, Sequence[Slot]], previous: Places) -> dict[_Herd, list[SlotId]]:
    herds: dict[_Herd, list[SlotId]] = {}
    for kind, slots in alike.items():
        for slot in slots:
            herds.setdefault(_Herd(kind, previous.get(slot.id)), []).append(slot.id)
    return herds


def _cheapest(
    herds: Mapping[_Herd, Sequence[SlotId]],
    lanes: Mapping[Lane, Place],
    counts: Mapping[Lane, int],
) -> list[tuple[_Herd, Lane, int]]:
    """How many of each herd go to each lane; those that stay come first.

    Prices are such that one slot more that keeps its task outweighs whatever it costs the
    others, then one more that keeps its job, then one less that leaves another job.
    """
    size = sum(len(slots) for slots in herds.values())
    outweigh = size + 1
    network = Network()
    ends = {lane: network.node() for lane in lanes}
    pools: dict[tuple[JobId | None, Kind], _Pool] = {}
    stays: list[tuple[_Herd, Lane, int]] = []

    def pool(job: JobId | None, kind: Kind) -> _Pool:
        """Where slots of one kind mix on their way to the lanes of a job; None is any job."""
        if (job, kind) not in pools:
            node = network.node()
            fitting = [lane for lane in lanes if job in (None, lane.job) and lane.suits(kind)]
            ways = {lane: network.edge(node, ends[lane], size) for lane in fitting}
            pools[job, kind] = _Pool(node, {}, ways)
        return pools[job, kind]

    for herd, slots in herds.items():
        start = network.node()
        network.edge(network.source, start, len(slots))
        for lane, place in lanes.items():
            if place == herd.at and lane.suits(herd.kind):
                stays.append((herd, lane, network.edge(start, ends[lane], size)))
        if herd.at is not None:
            own = pool(herd.at.job, herd.kind)
            own.ways_in[herd] = network.edge(start, own.node, size, outweigh**2 - outweigh)
        anywhere = pool(None, herd.kind)
        price = outweigh**2 - (herd.at is None)
        anywhere.ways_in[herd] = network.edge(start, anywhere.node, size, price)
    for lane, end in ends.items():
        network.edge(end, network.sink, counts[lane])
    network.push()

    dealt = [(herd, lane, network.flow(edge)) for herd, lane, edge in stays]
    for mixed in pools.values():
        dealt += mixed.dealt(network)
    return dealt


class _Pool(NamedTuple):
    node: int
    ways_in: dict[_Herd, int]
    ways_out: dict[Lane, int]

    def dealt(self, network: Network) -> list[tuple[_Herd, Lane, int]]:
        """Whoever came in goes out, in order: the price of all of them was paid on the way in."""
        came = [(herd, network.flow(edge)) for herd, edge in self.ways_in.items()]
        dealt: list[tuple[_Herd, Lane, int]] = []
        for lane, edge in self.ways_out.items():
            wanted = network.flow(edge)
            while wanted:
                herd, there = came.pop(0)
                amount = min(there, wanted)
                if amount < there:
                    came.insert(0, (herd, there - amount))
                if amount:
                    dealt.append((herd, lane, amount))
                wanted -= amount
        return dealt
