"""Every command of the cluster log: the one place that lists them."""

from __future__ import annotations

from typing import TypeAlias

from remuda.replica.commands.abort_join import AbortJoin
from remuda.replica.commands.accept_handoff import AcceptHandoff
from remuda.replica.commands.accept_join import AcceptJoin
from remuda.replica.commands.ack_task import AckTask
from remuda.replica.commands.add_units import AddUnits
from remuda.replica.commands.claim import Claim
from remuda.replica.commands.complete_handoff import CompleteHandoff
from remuda.replica.commands.complete_job import CompleteJob
from remuda.replica.commands.drain import Drain
from remuda.replica.commands.gc import Gc
from remuda.replica.commands.join_pool import JoinPool
from remuda.replica.commands.kill_job import KillJob
from remuda.replica.commands.leave_cluster import LeaveCluster
from remuda.replica.commands.leave_pool import LeavePool
from remuda.replica.commands.notify_join import NotifyJoin
from remuda.replica.commands.offer_handoff import OfferHandoff
from remuda.replica.commands.offer_slots import OfferSlots
from remuda.replica.commands.peg import Peg
from remuda.replica.commands.prepare_join import PrepareJoin
from remuda.replica.commands.rebalance import Rebalance
from remuda.replica.commands.release import Release
from remuda.replica.commands.release_job import ReleaseJob
from remuda.replica.commands.remove_units import RemoveUnits
from remuda.replica.commands.report_load import ReportLoad
from remuda.replica.commands.resume_job import ResumeJob
from remuda.replica.commands.revoke_task import RevokeTask
from remuda.replica.commands.seal_task import SealTask
from remuda.replica.commands.set_job_scheduler import SetJobScheduler
from remuda.replica.commands.submit_job import SubmitJob
from remuda.replica.commands.unpeg import Unpeg
from remuda.replica.commands.void import Void

AnyCommand: TypeAlias = (
    PrepareJoin
    | NotifyJoin
    | AcceptJoin
    | AbortJoin
    | LeaveCluster
    | JoinPool
    | LeavePool
    | AddUnits
    | RemoveUnits
    | Claim
    | Release
    | OfferHandoff
    | AcceptHandoff
    | CompleteHandoff
    | ReportLoad
    | Peg
    | Unpeg
    | Rebalance
    | Drain
    | OfferSlots
    | SetJobScheduler
    | SubmitJob
    | AckTask
    | RevokeTask
    | SealTask
    | CompleteJob
    | ReleaseJob
    | KillJob
    | ResumeJob
    | Gc
    | Void
)

COMMANDS: tuple[type[AnyCommand], ...] = (
    # membership
    PrepareJoin,
    NotifyJoin,
    AcceptJoin,
    AbortJoin,
    LeaveCluster,
    # ownership
    JoinPool,
    LeavePool,
    AddUnits,
    RemoveUnits,
    Claim,
    Release,
    OfferHandoff,
    AcceptHandoff,
    CompleteHandoff,
    ReportLoad,
    Peg,
    Unpeg,
    Rebalance,
    Drain,
    # jobs
    OfferSlots,
    SetJobScheduler,
    SubmitJob,
    AckTask,
    RevokeTask,
    SealTask,
    CompleteJob,
    ReleaseJob,
    KillJob,
    ResumeJob,
    # housekeeping
    Gc,
    Void,
)
