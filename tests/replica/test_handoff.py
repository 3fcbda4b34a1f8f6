"""docs/handoff.md, cell by cell: what becomes of a unit in each state, whatever happens to it.

The tables of the document are the cases. A replica is played, and the keepers of its three members
look at it; what they then start, stop and propose is what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest
from msgspec.structs import replace

from remuda.ownership.contract import Membership, StartUnit, StopUnit, UnitEffect
from remuda.ownership.keeper import Keeper, Phase
from remuda.ownership.plan import plan
from remuda.replica.command import Stamp
from remuda.replica.commands import (
    AcceptHandoff,
    AcceptJoin,
    AddUnits,
    AnyCommand,
    Claim,
    CompleteHandoff,
    Drain,
    JoinPool,
    LeaveCluster,
    NotifyJoin,
    OfferHandoff,
    Peg,
    PrepareJoin,
    Rebalance,
    Release,
    RemoveUnits,
    Unpeg,
)
from remuda.replica.entry import Entry
from remuda.replica.fold import play
from remuda.replica.invariants import broken
from remuda.replica.pool import Pool, Unit
from remuda.replica.state import PeerInfo, Replica
from remuda.service.control import described_units

DOCUMENT = Path(__file__).parents[2] / "docs" / "handoff.md"
HANDOFF_S = 10.0

Thing: TypeAlias = UnitEffect | AnyCommand


class Cluster:
    """A, B and C serve one pool. C has a unit of its own, pegged to it; the others are idle.

    Members propose and act as their keepers say, but nothing that concerns `unit` happens
    unless a test lets it.
    """

    def __init__(self, overlap: bool) -> None:
        pairs = {"A": "B", "B": "C", "C": "A"}
        infos = dict.fromkeys(pairs, PeerInfo("host", 1))
        self.replica = Replica(peers=infos, members=tuple(pairs), pairs=pairs)
        membership = Membership("s", handoff_s=HANDOFF_S if overlap else None, settle_s=0.0)
        self.keepers = {peer: Keeper(peer, membership) for peer in pairs}
        self.now = 0.0
        # What members want and has not been carried out yet.
        self.due: list[tuple[str, Thing]] = []
        self.ask(AddUnits("s", ("own-of-C",)))
        self.ask(Peg("s", "own-of-C", "C"))
        self.come_to_rest()

    # ── looking ──────────────────────────────────────────────────────────────────────────────

    @property
    def pool(self) -> Pool:
        return self.replica.pools["s"]

    @property
    def unit(self) -> Unit:
        return self.pool.units.get("unit", Unit())

    def epoch_of(self, peer: str) -> int:
        """Under which a member has the unit, or is to have it."""
        handoff = self.unit.handoff
        return handoff.epoch if handoff is not None and handoff.to == peer else self.unit.epoch

    def state(self) -> str:
        """As `remuda units list` calls it, and what the owner knows beyond that."""
        state = next((u["state"] for u in described_units("s", self.pool) if u["id"] == "unit"), "")
        owner, handoff = self.unit.owner, self.unit.handoff
        local = self.keepers[owner].units.get("unit") if owner in self.keepers else None
        stopping = local is not None and local.phase is Phase.STOPPING
        match state:
            case "":
                return "gone"
            case "owned" if stopping:
                return "stopping"
            case "owned" if owner and ("release", "unit") in self.keepers[owner]._asked:
                return "stopped"
            case "owned":
                return f"owned by {owner}"
            case "offered":
                assert handoff is not None
                return f"offered to {handoff.to}"
            case "overlapping":
                return "finishing" if stopping or local is None else "overlapping"
            case _:
                return state

    # ── happening ────────────────────────────────────────────────────────────────────────────

    def ask(self, command: AnyCommand, by: str = "operator") -> bool:
        """Into the log; whether it was not refused."""
        entry = Entry("id", Stamp(self.replica.position + 1, by, 0), command)
        played = play(self.replica, entry)
        if played.rejected is not None:
            assert replace(played.replica, position=entry.position - 1) == self.replica
        self.replica = played.replica
        assert broken(self.replica) == []
        if by in self.keepers:
            self.keepers[by].answered(command)
            self.due = [(who, what) for who, what in self.due if (who, what) != (by, command)]
        return played.rejected is None

    def look(self) -> list[tuple[str, Thing]]:
        """What each member wants now that it did not want before."""
        wanted: list[tuple[str, Thing]] = []
        for peer, keeper in self.keepers.items():
            pool = self.replica.pools.get("s")
            effects, commands = keeper.settle(pool, self.now, may_run=True, connected=True)
            wanted += [(peer, thing) for thing in (*effects, *commands)]
        self.due += wanted
        return wanted

    def come_to_rest(self, *held: str) -> None:
        """Everything that is wanted is done, except what concerns units that are held."""
        while self.look() or any(not concerns(what, *held) for _, what in self.due):
            waiting = [(who, what) for who, what in self.due if concerns(what, *held)]
            ready = [(who, what) for who, what in self.due if not concerns(what, *held)]
            self.due = waiting
            for peer, what in ready:
                self.carry_out(peer, what)

    def carry_out(self, peer: str, what: Thing) -> None:
        match what:
            case StartUnit():
                self.keepers[peer].started(what.unit, what.epoch)
            case StopUnit():
                self.keepers[peer].stopped(what.unit, what.epoch)
            case _:
                self.ask(what, by=peer)

    def one_step(self) -> None:
        """What is due for `unit` is done, and members look."""
        due, self.due = self.due, []
        for peer, what in due:
            self.carry_out(peer, what)
        self.look()

    def forget(self, peer: str, *kinds: type[Thing]) -> None:
        """It happened, or never will."""
        self.due = [
            (who, what)
            for who, what in self.due
            if who != peer or (kinds and not isinstance(what, kinds))
        ]

    def crash(self, *peers: str) -> None:
        for peer in peers:
            del self.keepers[peer]
            self.forget(peer)
        for peer in peers:
            self.ask(LeaveCluster(peer))


def concerns(what: Thing, *units: str) -> bool:
    match what:
        case StartUnit() | StopUnit():
            return what.unit in units
        case Claim() | Release() | OfferHandoff() | AcceptHandoff() | CompleteHandoff():
            return any(unit in units for unit in what.units)
        case _:
            return False


def told(peer: str, what: Thing) -> str:
    match what:
        case StartUnit():
            return f"{peer} starts"
        case StopUnit():
            return f"{peer} stops"
        case Claim():
            return f"{peer} claims"
        case Release():
            return f"{peer} releases"
        case OfferHandoff():
            return f"{peer} offers to {what.units['unit']}"
        case AcceptHandoff():
            return f"{peer} accepts"
        case CompleteHandoff():
            return f"{peer} completes"
        case _:
            raise AssertionError(what)


# ── states ───────────────────────────────────────────────────────────────────────────────────


def free(cluster: Cluster) -> None:
    """A's claim is on its way."""
    cluster.ask(AddUnits("s", ("unit",)))
    cluster.come_to_rest("unit")


def waiting(cluster: Cluster) -> None:
    cluster.ask(AddUnits("s", ("unit",)))
    cluster.ask(Peg("s", "unit", "ghost"))
    cluster.come_to_rest()


def failed(cluster: Cluster) -> None:
    """Everybody has tried."""
    free(cluster)
    for _ in range(3):
        cluster.one_step()
        owner = cluster.unit.owner
        assert owner is not None
        cluster.keepers[owner].failed("unit", cluster.unit.epoch, "no disk")
        cluster.due = []
        cluster.look()
        cluster.one_step()


def removing(cluster: Cluster) -> None:
    """A stops it."""
    owned(cluster)
    cluster.ask(RemoveUnits("s", ("unit",)))
    cluster.come_to_rest("unit")


def owned(cluster: Cluster) -> None:
    """A runs it, and the plan leaves it there."""
    cluster.ask(AddUnits("s", ("unit",)))
    cluster.come_to_rest()


def on_its_way(cluster: Cluster) -> None:
    """A has more than its share: the plan gives the unit to B, and A has begun to give it."""
    owned(cluster)
    cluster.ask(AddUnits("s", ("own-of-A",)))
    cluster.ask(Peg("s", "own-of-A", "A"))
    cluster.come_to_rest("unit")


def stopped(cluster: Cluster) -> None:
    """A's release is on its way."""
    on_its_way(cluster)
    cluster.one_step()


def offered(cluster: Cluster) -> None:
    """B starts it."""
    on_its_way(cluster)
    cluster.one_step()


def overlapping(cluster: Cluster) -> None:
    """Both run it."""
    offered(cluster)
    cluster.one_step()
    cluster.one_step()


def finishing(cluster: Cluster) -> None:
    """A has stopped it, and the completion is on its way."""
    overlapping(cluster)
    cluster.now += HANDOFF_S
    cluster.look()
    cluster.one_step()


State: TypeAlias = Callable[[Cluster], None]
# By pool, then by column of its table, with what the code calls it.
STATES: dict[str, dict[str, tuple[State, str]]] = {
    "Any pool": {
        "free": (free, "free"),
        "waiting": (waiting, "waiting"),
        "failed": (failed, "failed"),
        "removing": (removing, "removing"),
    },
    "Exclusive pool": {
        "owned": (owned, "owned by A"),
        "stopping": (on_its_way, "stopping"),
        "stopped": (stopped, "stopped"),
    },
    "Overlapping pool": {
        "owned": (owned, "owned by A"),
        "offered": (offered, "offered to B"),
        "overlapping": (overlapping, "overlapping"),
        "finishing": (finishing, "finishing"),
    },
}

OVERLAPS = {"Any pool": (False, True), "Exclusive pool": (False,), "Overlapping pool": (True,)}
WHY = "why"

# ── events ───────────────────────────────────────────────────────────────────────────────────

Event: TypeAlias = Callable[[Cluster], bool | None]
"""Whether the log took it; None if it is nothing that the log is asked."""


def cannot_start(peer: str) -> Event:
    """What the keeper then asks of the log belongs to it."""

    def happen(cluster: Cluster) -> None:
        keeper = cluster.keepers[peer]
        keeper.failed("unit", cluster.epoch_of(peer), "no disk")
        cluster.forget(peer, StartUnit, StopUnit)
        for who, what in cluster.look():
            if isinstance(what, Release):
                cluster.ask(what, by=who)

    return happen


def has_stopped(cluster: Cluster) -> None:
    """Because it was told to, or by itself."""
    cluster.keepers["A"].stopped("unit", cluster.epoch_of("A"))
    cluster.forget("A", StopUnit)


def has_started(cluster: Cluster) -> None:
    cluster.keepers["B"].started("unit", cluster.epoch_of("B"))
    cluster.forget("B", StartUnit)


def time_passes(cluster: Cluster) -> None:
    cluster.now += HANDOFF_S


def unpegged(cluster: Cluster) -> bool:
    """It was pegged to where it is or goes; or, where it waits, to nobody who is there."""
    if cluster.unit.peg is None:
        handoff, owner = cluster.unit.handoff, cluster.unit.owner
        cluster.ask(Peg("s", "unit", handoff.to if handoff is not None else owner or "A"))
    return cluster.ask(Unpeg("s", "unit"))


def newcomer(cluster: Cluster) -> None:
    """It calls itself as the peg calls it, where the unit waits for one."""
    cluster.ask(PrepareJoin("D", PeerInfo("host", 1, "ghost")))
    (observer,) = cluster.replica.prepared
    cluster.ask(NotifyJoin("D", observer))
    cluster.ask(AcceptJoin("D"))
    cluster.ask(JoinPool("s", "D", overlap=cluster.pool.overlap))
    cluster.keepers["D"] = Keeper("D", cluster.keepers["C"].membership)


def plan_changes(cluster: Cluster) -> bool:
    """What made A give the unit up is gone: it has no more than its share any more."""
    return cluster.ask(RemoveUnits("s", ("own-of-A", "own-of-C")))


def release(peer: str, age: int = 0) -> Event:
    return lambda it: it.ask(Release("s", peer, {"unit": it.epoch_of(peer) - age}), by=peer)


def accept(peer: str, age: int = 0) -> Event:
    return lambda it: it.ask(AcceptHandoff("s", peer, {"unit": it.epoch_of(peer) - age}), by=peer)


def complete(age: int = 0) -> Event:
    return lambda it: it.ask(CompleteHandoff("s", "A", {"unit": it.epoch_of("A") - age}), by="A")


def asked(command: AnyCommand, by: str = "operator") -> Event:
    return lambda it: it.ask(command, by=by)


def crash(*peers: str) -> Event:
    return lambda it: it.crash(*peers)


EVENTS: dict[str, Event] = {
    "A claims it": asked(Claim("s", "A", ("unit",)), by="A"),
    "B claims it": asked(Claim("s", "B", ("unit",)), by="B"),
    "one who is not in the pool claims it": asked(Claim("s", "X", ("unit",))),
    "A has stopped it": has_stopped,
    "A releases it": release("A"),
    "B releases it": release("B"),
    "C releases it": release("C"),
    "A offers it to B": asked(OfferHandoff("s", "A", {"unit": "B"}), by="A"),
    "B has started it": has_started,
    "B accepts it": accept("B"),
    "C accepts it": accept("C"),
    "the handoff time is over": time_passes,
    "A completes the handoff": complete(),
    "a late release by A": release("A", age=1),
    "a late acceptance by B": accept("B", age=1),
    "a late completion by A": complete(age=1),
    "A crashes": crash("A"),
    "B crashes": crash("B"),
    "A and B crash": crash("A", "B"),
    "C crashes": crash("C"),
    "D joins": newcomer,
    "A cannot start it": cannot_start("A"),
    "B cannot start it": cannot_start("B"),
    "the plan changes": plan_changes,
    "A drains": asked(Drain("A", shutdown=True)),
    "B drains": asked(Drain("B", shutdown=True)),
    "it is removed": asked(RemoveUnits("s", ("unit",))),
    "it is added again": asked(AddUnits("s", ("unit",))),
    "it is pegged to A": asked(Peg("s", "unit", "A")),
    "it is pegged to B": asked(Peg("s", "unit", "B")),
    "it is pegged to C": asked(Peg("s", "unit", "C")),
    "it is pegged to nobody here": asked(Peg("s", "unit", "nobody")),
    "it is unpegged": unpegged,
    "a rebalance is asked for": asked(Rebalance("s")),
}


# ── the document ─────────────────────────────────────────────────────────────────────────────


class Cell(NamedTuple):
    pool: str
    state: str
    event: str
    outcome: str


def tables() -> dict[str, list[list[str]]]:
    """The tables of the document that begin with an event, by what their heading calls the pool."""
    found: dict[str, list[list[str]]] = {}
    pool = ""
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("#"):
            pool = line.lstrip("# ")
        elif line.startswith("| ") and pool in STATES:
            found.setdefault(pool, []).append([cell.strip() for cell in line.split("|")[1:-1]])
    return found


def cells() -> Iterator[Cell]:
    for pool, (header, *rows) in tables().items():
        for event, *outcomes in rows:
            for state, outcome in zip(header[1:], outcomes, strict=True):
                if state != WHY:
                    yield Cell(pool, state, event, outcome)


def outcome(cluster: Cluster, pool: str, column: str, event: str) -> str:
    """As the document writes it: the state that follows, and what members then do about it."""
    reach, state = STATES[pool][column]
    reach(cluster)
    assert cluster.state() == state
    before = list(cluster.due)
    took = EVENTS[event](cluster)
    cluster.look()
    new = [(who, what) for who, what in cluster.due if (who, what) not in before]
    follows = sorted({told(who, what) for who, what in new if concerns(what, "unit")})
    becomes = "same" if cluster.state() == state else cluster.state()
    if took is False:
        assert (becomes, follows) == ("same", [])
        return "refused"
    return f"{becomes}: {', '.join(follows)}" if follows else becomes


CELLS = list(cells())


@pytest.mark.parametrize("cell", CELLS, ids=lambda c: f"{c.pool}, {c.state}: {c.event}")
def test_every_cell_of_the_document_is_what_happens(cell: Cell) -> None:
    for overlap in OVERLAPS[cell.pool]:
        assert outcome(Cluster(overlap), cell.pool, cell.state, cell.event) == cell.outcome


def test_the_document_has_every_state_and_every_event_and_no_others() -> None:
    assert {pool: header for pool, (header, *_) in tables().items()} == {
        pool: ["event", *columns, WHY] for pool, columns in STATES.items()
    }
    for rows in tables().values():
        assert [event for event, *_ in rows[1:]] == list(EVENTS)


@pytest.mark.parametrize("overlap", [False, True], ids=["exclusive", "overlapping"])
def test_it_does_not_matter_in_which_order_both_sides_crash(overlap: bool) -> None:
    for pool, columns in STATES.items():
        for reach, _ in columns.values() if overlap in OVERLAPS[pool] else ():
            ends: list[Unit] = []
            for order in (("A", "B"), ("B", "A")):
                cluster = Cluster(overlap)
                reach(cluster)
                cluster.crash(*order)
                ends.append(replace(cluster.unit, epoch=0))
            assert ends[0] == ends[1]


@pytest.mark.parametrize("cell", CELLS, ids=lambda c: f"{c.pool}, {c.state}: {c.event}")
def test_whatever_has_happened_members_come_to_rest_with_one_owner(cell: Cell) -> None:
    for overlap in OVERLAPS[cell.pool]:
        cluster = Cluster(overlap)
        outcome(cluster, cell.pool, cell.state, cell.event)
        for _ in range(3):
            cluster.come_to_rest()
            cluster.now += HANDOFF_S
        running = [peer for peer, keeper in cluster.keepers.items() if "unit" in keeper.units]
        assert running == [peer for peer in [cluster.unit.owner] if peer is not None]
        assert cluster.state() in (
            *("gone", "waiting", "failed"),
            *(f"owned by {peer}" for peer in cluster.keepers),
        )
        assert plan(cluster.pool).moves == ()
