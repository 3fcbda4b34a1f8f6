"""A peer that gives cores to jobs and drives those that it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

import msgspec

from remuda.config import Config
from remuda.errors import RemudaError
from remuda.peer.board import Board
from remuda.peer.effects import Ending
from remuda.peer.hooks import Hooks
from remuda.peer.job_contract import JobOffer
from remuda.peer.runtime import JobRole, Peer, Role
from remuda.pipeline.driver.spares import Spares
from remuda.pipeline.leading import JobLeader, Showing
from remuda.pipeline.settings import launch_of, slots_of, tags_of, terms_of
from remuda.replica.fold import Played
from remuda.replica.state import PeerId, Replica
from remuda.zookeeper.connection import Link

_SHOW_S = 0.5


class JobNode:
    """`await node.run()`, and `node.leave()` to end it cleanly.

    What else the peer does is in `roles`, and where it takes calls is its `address`.
    Warm drivers cost memory and seconds of a core, so there are none before the first job.
    """

    def __init__(
        self,
        config: Config,
        hooks: Hooks | None = None,
        *,
        roles: Iterable[Role] = (),
        address: str = "",
        create_chroot: bool = False,
    ) -> None:
        self._spares = Spares(launch_of(config), keep=0)
        self._leader = JobLeader(self._spares, terms_of(config), self._note)
        self._keep = config.spares
        self._showings: dict[str, Showing] = {}
        self.peer = Peer(
            config,
            _Watching(hooks or Hooks(), self._look),
            roles=roles,
            address=address,
            job_role=JobRole(JobOffer(slots_of(config), tags_of(config)), self._leader),
            create_chroot=create_chroot,
        )

    async def run(self) -> None:
        showing = asyncio.create_task(self._show())
        try:
            await self.peer.run()
        finally:
            showing.cancel()
            await self._leader.close()

    def leave(self) -> None:
        self.peer.leave()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _look(self, replica: Replica) -> None:
        if any(not job.is_ended for job in replica.jobs.values()):
            self._spares.keep(self._keep)

    def _note(self, job_id: str, showing: Showing) -> None:
        self._showings[job_id] = showing

    async def _show(self) -> None:
        """The latest of each job, not more often than anybody could read it."""
        while True:
            await asyncio.sleep(_SHOW_S)
            connection = self.peer.connection
            if connection is None:
                continue
            showings, self._showings = self._showings, {}
            for job_id, showing in showings.items():
                with suppress(RemudaError):
                    await Board(connection).show(job_id, msgspec.json.encode(showing))


class _Watching(Hooks):
    """Looks at the replica, and passes everything on."""

    def __init__(self, hooks: Hooks, look: Callable[[Replica], None]) -> None:
        self._hooks = hooks
        self._look = look

    def life_began(self, me: PeerId) -> None:
        self._hooks.life_began(me)

    def link_changed(self, link: Link) -> None:
        self._hooks.link_changed(link)

    def origin_taken(self, replica: Replica) -> None:
        self._look(replica)
        self._hooks.origin_taken(replica)

    def entry_played(self, played: Played) -> None:
        self._look(played.replica)
        self._hooks.entry_played(played)

    def work_may_start(self) -> None:
        self._hooks.work_may_start()

    def work_must_stop(self, reason: str) -> None:
        self._hooks.work_must_stop(reason)

    def life_ended(self, me: PeerId, ending: Ending) -> None:
        self._hooks.life_ended(me, ending)
