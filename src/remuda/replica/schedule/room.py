"""What fits at once: slots with their tags and sites, against tasks with theirs.

A job that is let in (`secure`) has its minimum. What it gets beyond that (`more`) is not yet tied
to one of its tasks, only to its having one that could use it: so a later job still gets the one
slot with a rare tag, if an earlier one can do with another. `tasks` ties it in the end.

A colocated job gets groups: on one site, one slot for each of its tasks. Groups are packed in
order of jobs, then of site names, which is not always the best way to pack: of several colocated
jobs of different sizes one may wait although another order would have let it in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from typing import NamedTuple

from remuda.replica.schedule.demand import JobDemand, JobId, by_submission
from remuda.replica.schedule.flow import Network
from remuda.replica.schedule.slots import Site, Slot


class Kind(NamedTuple):
    """Slots that are the same to every job at hand. Where sites do not matter, it has none."""

    site: Site | None
    tags: tuple[str, ...]


class Lane(NamedTuple):
    """A task of a job, by its number; if the job is colocated, the task on one site."""

    job: JobId
    task: int
    site: Site | None
    tags: tuple[str, ...]

    def suits(self, kind: Kind) -> bool:
        return self.site in (None, kind.site) and all(tag in kind.tags for tag in self.tags)


def kinds(slots: Iterable[Slot], jobs: Sequence[JobDemand]) -> dict[Kind, list[Slot]]:
    """Slots by what of them matters to these jobs, sorted; inside, by name."""
    sites_matter = any(job.is_colocated for job in jobs)
    asked = {tag for job in jobs for task in job.tasks for tag in task.tags}
    found: dict[Kind, list[Slot]] = {}
    for slot in sorted(slots, key=lambda slot: slot.id):
        tags = tuple(sorted(tag for tag in dict.fromkeys(slot.tags) if tag in asked))
        found.setdefault(Kind(slot.site if sites_matter else None, tags), []).append(slot)
    return dict(sorted(found.items()))


class Room:
    """Slots flow from a source through their kinds to lanes, and from there to a sink: directly
    (`_tied`), or through what their job has loose (`_loose`)."""

    def __init__(self, slots: Iterable[Slot], jobs: Iterable[JobDemand]) -> None:
        self.slots = tuple(sorted(slots, key=lambda slot: slot.id))
        self.jobs = tuple(sorted(jobs, key=by_submission))
        self.size = len(self.slots)
        self.network = Network()
        self._taken: list[int] = []
        self._tied: dict[Lane, int] = {}
        self._loose: dict[JobId, int] = {}
        self._lanes: dict[JobId, dict[Site | None, list[Lane]]] = {}
        self._build()

    def copy(self) -> Room:
        """A room of the same slots and jobs, to try things in."""
        other = copy(self)
        other.network = self.network.copy()
        return other

    # ── asking ───────────────────────────────────────────────────────────────────────────────

    def held(self, job: JobDemand) -> int:
        loose = self.network.flow(self._loose[job.job]) if job.job in self._loose else 0
        return loose + sum(self.counts(job))

    def counts(self, job: JobDemand) -> list[int]:
        """What is tied to each task of a job."""
        counts = [0] * len(job.tasks)
        for lane in self._lanes_of(job):
            counts[lane.task] += self.network.flow(self._tied[lane])
        return counts

    def filled_lanes(self) -> dict[Lane, int]:
        return {
            lane: count for lane, edge in self._tied.items() if (count := self.network.flow(edge))
        }

    def fitting(self, job: JobDemand) -> int:
        """How much of the minimum of a job that is not here would still fit."""
        fitting = self._add_minimum(job)
        self._withdraw(job)
        return fitting

    # ── changing ─────────────────────────────────────────────────────────────────────────────

    def secure(self, job: JobDemand) -> bool:
        """Gives a job that is not here its minimum, or nothing."""
        if self._lanes[job.job] and job.minimum <= self._free:
            if self._add_minimum(job) == job.minimum:
                return True
            self._withdraw(job)
        return False

    def more(self, job: JobDemand, wanted: int) -> int:
        """Gives a job that has its minimum up to so many more; how many it got."""
        wanted = min(wanted, self._free)
        if wanted <= 0:
            return 0
        if not job.is_colocated:
            return self.network.pull(self._loose[job.job], wanted)
        if job.most is not None:
            wanted = min(wanted, job.most - self.held(job))
        return self._add_groups(job, wanted // job.step) * job.step

    def add_group(self, job: JobDemand, site: Site | None) -> bool:
        """One slot for each task of a colocated job, all on one site; or nothing."""
        if self._free < job.step:
            return False
        lanes = self._lanes[job.job].get(site, [])
        for number, lane in enumerate(lanes):
            if not self.network.pull(self._tied[lane], 1):
                for undone in lanes[:number]:
                    self.network.withdraw(self._tied[undone], 1)
                return False
        return bool(lanes)

    def untie(self, job: JobDemand) -> int:
        """Takes back what a job has loose; how much that was."""
        loose = self.network.flow(self._loose[job.job])
        self.network.withdraw(self._loose[job.job], loose)
        return loose

    def tie(self, job: JobDemand, task: int, wanted: int) -> int:
        """Gives one task of a job, by its number, up to so many more; how many it got."""
        return self.network.pull(self._tied[self._lanes[job.job][None][task]], wanted)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _build(self) -> None:
        network = self.network
        nodes: dict[Kind, int] = {}
        sites = Counter(slot.site for slot in self.slots)
        for kind, alike in kinds(self.slots, self.jobs).items():
            nodes[kind] = network.node()
            self._taken.append(network.edge(network.source, nodes[kind], len(alike)))
        for job in self.jobs:
            self._lanes[job.job] = {}
            if job.contradiction or job.minimum > self.size:
                continue  # however many tasks it has, it costs nothing here
            if job.is_colocated:
                for site in sorted(sites):
                    if sites[site] >= job.step:
                        self._build_lanes(job, site, nodes, None)
            else:
                loose = network.node()
                self._loose[job.job] = network.edge(loose, network.sink, 0)
                self._build_lanes(job, None, nodes, loose)

    def _build_lanes(
        self, job: JobDemand, site: Site | None, kinds: dict[Kind, int], loose: int | None
    ) -> None:
        lanes = [Lane(job.job, n, site, task.tags) for n, task in enumerate(job.tasks)]
        self._lanes[job.job][site] = lanes
        for lane, task in zip(lanes, job.tasks, strict=True):
            node = self.network.node()
            for kind, start in kinds.items():
                if lane.suits(kind):
                    self.network.edge(start, node, self.size)
            self._tied[lane] = self.network.edge(node, self.network.sink, 0)
            if loose is not None:
                spare = self.size if task.most is None else task.most - task.fewest
                self.network.edge(node, loose, spare)

    def _lanes_of(self, job: JobDemand) -> list[Lane]:
        return [lane for lanes in self._lanes[job.job].values() for lane in lanes]

    @property
    def _free(self) -> int:
        return self.size - sum(self.network.flow(edge) for edge in self._taken)

    def _add_minimum(self, job: JobDemand) -> int:
        if job.is_colocated:
            return self._add_groups(job, job.minimum // job.step) * job.step
        if not self._lanes[job.job]:
            return 0
        return sum(self.tie(job, number, task.fewest) for number, task in enumerate(job.tasks))

    def _withdraw(self, job: JobDemand) -> None:
        for lane in self._lanes_of(job):
            self.network.withdraw(self._tied[lane], self.network.flow(self._tied[lane]))

    def _add_groups(self, job: JobDemand, wanted: int) -> int:
        added = 0
        for site in self._lanes[job.job]:
            while added < wanted and self.add_group(job, site):
                added += 1
        return added
