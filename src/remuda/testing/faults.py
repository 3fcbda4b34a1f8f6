"""What goes wrong, and when: all of it drawn from the simulation's seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from remuda.replica.commands import (
    AddUnits,
    Drain,
    KillJob,
    Peg,
    Rebalance,
    RemoveUnits,
    ResumeJob,
    SetJobScheduler,
    SubmitJob,
    Unpeg,
)
from remuda.replica.schedule.demand import TaskDemand

if TYPE_CHECKING:
    from remuda.testing.process import SimProcess
    from remuda.testing.simulation import Simulation

_JOBS_MAX = 6
UNITS = [f"unit-{letter}" for letter in "abcdefgh"]


class Faults:
    def __init__(self, world: Simulation, processes_max: int) -> None:
        self._world = world
        self._processes_max = processes_max
        self._stopped = False
        # Some runs are calm between strikes, some are not.
        self._pause_s = world.chance.choice((0.3, 1.0, 3.0))
        self._kinds: tuple[Callable[[], None], ...] = (
            self._crash,
            self._crash_neighbours,
            self._start,
            self._start_burst,
            self._freeze,
            self._disconnect,
            self._leave,
            self._leave_burst,
            self._gc,
            self._zookeeper_restarts,
        )
        if world.memberships:
            self._kinds += (
                self._change_units,
                self._peg,
                self._unpeg,
                self._drain,
                self._report_loads,
                self._rebalance,
            )
        if world.job_offer is not None:
            self._kinds += (
                self._submit_job,
                self._submit_job,
                self._submit_job,
                self._kill_job,
                self._resume_job,
                self._set_job_scheduler,
                self._freeze_lead,
                self._freeze_lead,
            )

    def begin(self) -> None:
        for membership in self._world.memberships:
            self._world.ask(AddUnits(membership.pool, tuple(UNITS[:6])))
        for _ in range(self._world.chance.randint(1, self._processes_max)):
            self._start()
        if self._world.job_offer is not None:
            self._submit_job()
            self._submit_job()
        self._strike_later()

    def end(self) -> None:
        """No more of it: everybody wakes and reconnects."""
        self._stopped = True
        for process in self._world.processes:
            process.wake()
            process.reconnect()
        if not self._world.living():
            self._world.start_process()
        for name, pool in self._world.replica.pools.items():
            self._world.ask(Rebalance(name))
            for peer in pool.drains:
                self._world.ask(Drain(peer, name, off=True))
            for unit in pool.units:
                self._world.ask(Unpeg(name, unit))
        self._world.unit_failures = 0.0
        self._world.driver_failures = 0.0

    def _strike_later(self) -> None:
        self._world.after(self._world.chance.expovariate(1 / self._pause_s), self._strike)

    def _strike(self) -> None:
        if not self._stopped:
            self._world.chance.choice(self._kinds)()
            self._strike_later()

    # ── kinds ────────────────────────────────────────────────────────────────────────────────

    def _crash(self) -> None:
        for process in self._some():
            self._tell("crash", process)
            process.crash()

    def _crash_neighbours(self) -> None:
        """A peer and whoever it watches, at once: the ring has to close over both."""
        pairs = self._world.replica.pairs
        for process in self._some():
            for victim in (process, self._process_of(pairs.get(process.me))):
                if victim is not None and victim.alive:
                    self._tell("crash of neighbours", victim)
                    victim.crash()

    def _start(self) -> None:
        if len([p for p in self._world.processes if p.alive]) < self._processes_max:
            self._world.start_process()

    def _start_burst(self) -> None:
        for _ in range(self._world.chance.randint(2, 4)):
            self._start()

    def _freeze(self) -> None:
        for process in self._some():
            self._freeze_one(process)

    def _freeze_lead(self) -> None:
        """A peer that drives a job: its driver goes on without it."""
        for driver in self._world.drivers.running[:1]:
            self._freeze_one(driver.process)

    def _freeze_one(self, process: SimProcess) -> None:
        self._tell("freeze", process)
        process.freeze()
        self._world.after(self._some_time_s(), process.wake)

    def _disconnect(self) -> None:
        for process in self._some():
            self._tell("disconnect", process)
            process.disconnect()
            self._world.after(self._some_time_s(), process.reconnect)

    def _leave(self) -> None:
        for process in self._some():
            self._tell("leave", process)
            process.leave()

    def _leave_burst(self) -> None:
        for _ in range(3):
            self._leave()

    def _gc(self) -> None:
        self._world.gc()

    def _zookeeper_restarts(self) -> None:
        """Nobody is connected for a while; a server that comes back counts sessions anew."""
        self._world.tell("fault: ZooKeeper restarts")
        pause_s = self._world.chance.uniform(0.1, 1.5)
        for process in self._world.processes:
            process.disconnect()
            self._world.after(pause_s, process.reconnect)
        for session in self._world.zookeeper.sessions.values():
            session.touched_at = self._world.now + pause_s

    # ── what operators do ────────────────────────────────────────────────────────────────────

    def _change_units(self) -> None:
        pool, chance = self._pool(), self._world.chance
        units = tuple(chance.sample(UNITS, 3))
        self._world.ask(
            AddUnits(pool, units) if chance.random() < 0.6 else RemoveUnits(pool, units[:1])
        )

    def _peg(self) -> None:
        """To somebody who is there, mostly."""
        peers = [*self._world.replica.peers, "nobody"]
        self._world.ask(Peg(self._pool(), self._unit(), self._world.chance.choice(peers)))

    def _unpeg(self) -> None:
        self._world.ask(Unpeg(self._pool(), self._unit()))

    def _drain(self) -> None:
        chance = self._world.chance
        for peer in self._world.replica.members[:1]:
            self._world.ask(Drain(peer, to=chance.randint(0, 2), off=chance.random() < 0.4))

    def _report_loads(self) -> None:
        for process in self._some():
            loads = {unit: self._world.chance.randint(0, 100) for unit in UNITS}
            process.measure(self._pool(), loads)

    def _rebalance(self) -> None:
        self._world.ask(Rebalance(self._pool()))

    def _submit_job(self) -> None:
        chance, jobs = self._world.chance, self._world.replica.jobs
        if sum(not job.is_ended for job in jobs.values()) < _JOBS_MAX:
            self._world.ask(
                SubmitJob(
                    f"job-{len(jobs)}",
                    "{}",
                    tuple(self._task(f"task-{n}") for n in range(chance.randint(1, 2))),
                    chance.choice(("balanced", "balanced", "percentage", "colocated")),
                    chance.choice((None, 200_000, 300_000, 500_000)),
                )
            )

    def _task(self, name: str) -> TaskDemand:
        chance = self._world.chance
        return TaskDemand(
            name,
            min_slots=chance.choice((None, None, None, 2)),
            max_slots=chance.choice((None, 2, 3)),
            tags=chance.choice((*[()] * 8, ("fast",), ("rare",))),
            flux=chance.choice(("recover", "recover", "continue", "kill")),
        )

    def _kill_job(self) -> None:
        for job in self._some_jobs():
            self._world.ask(KillJob(job, "an operator said so"))

    def _resume_job(self) -> None:
        for job in self._some_jobs():
            self._world.ask(ResumeJob(job))

    def _set_job_scheduler(self) -> None:
        scheduler = self._world.chance.choice(("greedy", "balanced", "percentage"))
        self._world.ask(SetJobScheduler(scheduler))

    # ── choosing ─────────────────────────────────────────────────────────────────────────────

    def _some(self) -> list[SimProcess]:
        """One living process, if there is any."""
        living = [p for p in self._world.processes if p.alive and not p.leaving]
        return [self._world.chance.choice(living)] if living else []

    def _some_jobs(self) -> list[str]:
        jobs = sorted(self._world.replica.jobs)
        return [self._world.chance.choice(jobs)] if jobs else []

    def _pool(self) -> str:
        return self._world.chance.choice(self._world.memberships).pool

    def _unit(self) -> str:
        return self._world.chance.choice(UNITS)

    def _process_of(self, peer: str | None) -> SimProcess | None:
        return next((p for p in self._world.processes if p.me == peer), None)

    def _some_time_s(self) -> float:
        """Around the session time-out, on either side of it."""
        return self._world.timing.session_timeout_s * self._world.chance.uniform(0.1, 2.5)

    def _tell(self, kind: str, process: SimProcess) -> None:
        self._world.tell(f"fault: {kind} of process {process.pid}, {process.me}")
