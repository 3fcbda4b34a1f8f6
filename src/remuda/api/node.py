"""A node: a peer that gives cores to jobs, owns data partitions, and takes calls.

Every node process of a machine shares the data directory. The first node of a cluster gives it its
partitions; how many there are is fixed from then on.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from functools import partial

from remuda.api.cluster import ClusterService
from remuda.api.littlehorse.service import Workflows
from remuda.api.nodes import NodesService
from remuda.api.queues import Consume, QueuesService
from remuda.api.routing import Router
from remuda.api.server import Server
from remuda.api.taking import Takings
from remuda.config import Config
from remuda.errors import Disconnected, SessionLost
from remuda.log.zookeeper import ZooKeeperLog
from remuda.ownership.contract import Membership
from remuda.partition.hosting import POOL, Host, found
from remuda.partition.inbox import Limits
from remuda.partition.machine import Effect
from remuda.partition.outbox import Envelope
from remuda.partition.runtime import Partition
from remuda.peer.effects import Ending
from remuda.peer.hooks import Hooks
from remuda.peer.runtime import Role
from remuda.pipeline.node import JobNode
from remuda.queue import outside
from remuda.queue.bell import Bell
from remuda.queue.errands import MACHINE
from remuda.queue.gateway import Gateway
from remuda.queue.machine import QueueMachine
from remuda.queue.questions import answered
from remuda.replica.fold import Played
from remuda.replica.state import PeerId, Replica
from remuda.workflow import dispatch, questions
from remuda.workflow.machine import WorkflowMachine
from remuda.zookeeper.connection import Connection, Link
from remuda.zookeeper.locate import data_dir

log = logging.getLogger("remuda.api")

KEY_PATH = "/node-key"


class Node:
    """`await node.run()`, and `node.leave()` to end it cleanly."""

    def __init__(
        self,
        config: Config,
        hooks: Hooks | None = None,
        *,
        create_chroot: bool = False,
        consume: Consume | None = None,
    ) -> None:
        self._config = config
        self._bell = Bell()
        answers = {MACHINE: answered, dispatch.MACHINE: questions.answered}
        self._router = Router(answers, config.route_timeout_s)
        self._workflows = Workflows(self._router)
        self._host = Host(
            data_dir(config),
            (),
            _Surroundings(self._router, self._bell, self._workflows),
            self._is_gone,
            limits=Limits(history_keep=config.history_keep),
        )
        self._hooks = _Listening(self, hooks or Hooks())
        self._create_chroot = create_chroot
        self._consume = consume or partial(outside.consume, config)
        self._node: JobNode | None = None
        self._server: Server | None = None
        self._settling: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._left = False

    async def run(self) -> None:
        """Be a node. Returns after `leave`; raises what `Peer.run` raises."""
        server = self._server = Server(self._config.grpc_host, self._config.grpc_port)
        self._router.serve(self._host, server.address)
        gateway = Gateway(self._router, self._bell)
        takings = Takings(gateway, self._router, self._bell, self._config.route_timeout_s)
        server.offer(
            QueuesService(gateway, takings, self._consume),
            ClusterService(self._router),
            NodesService(self._router),
            self._workflows.service,
        )
        membership = Membership(
            POOL, settle_s=self._config.settle_time_s, drain_s=self._config.drain_time_s
        )
        node = self._node = JobNode(
            self._config,
            self._hooks,
            roles=[Role(membership, self._host)],
            address=server.address,
            create_chroot=self._create_chroot,
        )
        if self._left:
            node.leave()
        await server.start()
        try:
            await node.run()
        finally:
            if self._settling is not None:
                self._settling.cancel()
            await server.stop()
            await self._host.ended()
            await self._router.close()

    def leave(self) -> None:
        self._left = True
        if self._node is not None:
            self._node.leave()

    # ── what happens to the peer ─────────────────────────────────────────────────────────────

    def note(self, replica: Replica) -> None:
        pool = replica.pools.get(POOL)
        if not self._host.machines and pool is not None and pool.units:
            partitions = len(pool.units)
            self._host.machines = (QueueMachine(partitions), WorkflowMachine(partitions))
        self._router.note(replica)

    def note_working(self) -> None:
        if self._settling is None or self._settling.done():
            self._settling = asyncio.get_running_loop().create_task(self._settle_in())

    def note_stopped(self) -> None:
        self._tell_health(False)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _settle_in(self) -> None:
        """What the first node of a cluster does for all, and all look at."""
        connection = None if self._node is None else self._node.peer.connection
        if connection is None:
            return
        try:
            self._router.key = await _key(connection)
            pool = self._router.replica.pools.get(POOL)
            if pool is None or not pool.units:
                await found(await ZooKeeperLog.find(connection), self._config.partitions)
            self._tell_health(True)
        except (Disconnected, SessionLost) as error:
            # When the connection is back, work may start again, and so does this.
            log.info("settling in is put off: %s", error)

    def _tell_health(self, serves: bool) -> None:
        if self._server is not None:
            self._telling = asyncio.get_running_loop().create_task(self._server.tell(serves))

    def _is_gone(self, peer: PeerId) -> bool:
        return peer not in self._router.replica.peers


async def _key(connection: Connection) -> str:
    """The secret that the nodes of a cluster share: whoever can read ZooKeeper is one of them."""
    await connection.ensure(KEY_PATH, secrets.token_hex(16).encode())
    found_key = await connection.get(KEY_PATH)
    return "" if found_key is None else found_key[0].decode()


class _Surroundings:
    """What partitions are to the rest of this node."""

    def __init__(self, router: Router, bell: Bell, workflows: Workflows) -> None:
        self._router = router
        self._bell = bell
        self._workflows = workflows

    async def deliver(self, to: int, envelope: Envelope) -> int:
        return await self._router.deliver(to, envelope)

    def opened(self, partition: Partition) -> None:
        # It takes commands when this round of the event loop is over.
        asyncio.get_running_loop().call_soon(self._router.stir)

    def effects(self, partition: int, machine: str, effects: Sequence[Effect]) -> None:
        if machine == MACHINE:
            self._bell.ring(effects)
        elif machine == dispatch.MACHINE:
            self._workflows.effects(partition, effects)

    def closed(self, partition: int) -> None:
        self._workflows.closed(partition)
        self._router.stir()


class _Listening(Hooks):
    """Listens for what concerns the node, and passes everything on."""

    def __init__(self, node: Node, others: Hooks) -> None:
        self._node = node
        self._others = others

    def life_began(self, me: PeerId) -> None:
        self._others.life_began(me)

    def link_changed(self, link: Link) -> None:
        self._others.link_changed(link)

    def origin_taken(self, replica: Replica) -> None:
        self._node.note(replica)
        self._others.origin_taken(replica)

    def entry_played(self, played: Played) -> None:
        self._node.note(played.replica)
        self._others.entry_played(played)

    def work_may_start(self) -> None:
        self._node.note_working()
        self._others.work_may_start()

    def work_must_stop(self, reason: str) -> None:
        self._node.note_stopped()
        self._others.work_must_stop(reason)

    def life_ended(self, me: PeerId, ending: Ending) -> None:
        self._others.life_ended(me, ending)
