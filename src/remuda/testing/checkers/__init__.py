"""One checker an invariant. Each is told what happens, and fails the run when it must not."""

from remuda.testing.checkers.checker import Checker
from remuda.testing.checkers.commits_are_fenced import CommitsAreFenced
from remuda.testing.checkers.entries_are_unique import EntriesAreUnique
from remuda.testing.checkers.exclusive_units_run_once import ExclusiveUnitsRunOnce
from remuda.testing.checkers.handed_over_units_never_pause import HandedOverUnitsNeverPause
from remuda.testing.checkers.jobs_come_to_an_end import JobsComeToAnEnd
from remuda.testing.checkers.jobs_have_one_driver import JobsHaveOneDriver
from remuda.testing.checkers.members_were_watched import MembersWereWatched
from remuda.testing.checkers.only_the_dead_are_reported import OnlyTheDeadAreReported
from remuda.testing.checkers.output_is_sealed_once import OutputIsSealedOnce
from remuda.testing.checkers.replica_invariants_hold import ReplicaInvariantsHold
from remuda.testing.checkers.replicas_agree import ReplicasAgree
from remuda.testing.checkers.ring_closes_over_the_living import RingClosesOverTheLiving
from remuda.testing.checkers.units_find_their_owners import UnitsFindTheirOwners
from remuda.testing.checkers.work_stops_before_expiry import WorkStopsBeforeExpiry

CHECKERS: tuple[type[Checker], ...] = (
    ReplicaInvariantsHold,
    ReplicasAgree,
    EntriesAreUnique,
    MembersWereWatched,
    OnlyTheDeadAreReported,
    WorkStopsBeforeExpiry,
    RingClosesOverTheLiving,
    ExclusiveUnitsRunOnce,
    HandedOverUnitsNeverPause,
    UnitsFindTheirOwners,
    JobsHaveOneDriver,
    CommitsAreFenced,
    OutputIsSealedOnce,
    JobsComeToAnEnd,
)
