"""The worked cases of joining and leaving."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.replica.command import Rejected, Stamp
from remuda.replica.commands import (
    AbortJoin,
    AcceptJoin,
    AnyCommand,
    LeaveCluster,
    NotifyJoin,
    PrepareJoin,
)
from remuda.replica.invariants import broken
from remuda.replica.ring import candidates, key_of
from remuda.replica.state import PeerInfo, Replica
from tests.vectors import vectors

CASES: list[dict[str, Any]] = vectors("ring")["cases"]
INFO = PeerInfo("host", 1)


def command_of(replica: Replica, kind: str, peer: str) -> AnyCommand:
    match kind:
        case "prepare-join":
            return PrepareJoin(peer, INFO)
        case "notify-join":
            return NotifyJoin(peer, key_of(replica.prepared, peer) or "nobody")
        case "accept-join":
            return AcceptJoin(peer)
        case "abort-join":
            return AbortJoin(peer)
        case "leave-cluster":
            return LeaveCluster(peer)
        case _:
            raise AssertionError(f"a case uses the unknown command {kind}")


def position_for(replica: Replica, peer: str, where: dict[str, Any]) -> int:
    """A case gives the entry's position, or the observer that some position would pick."""
    if "observer" in where:
        return candidates(replica, peer).index(where["observer"])
    return int(where.get("position", 0))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_worked_case_comes_out_as_written(case: dict[str, Any]) -> None:
    replica = Replica(
        peers=dict.fromkeys(case["members"], INFO),
        members=tuple(case["members"]),
        pairs=case["pairs"],
    )
    turned_away: list[str] = []
    for kind, peer, *where in case["entries"]:
        position = position_for(replica, peer, where[0] if where else {})
        outcome = command_of(replica, kind, peer).apply(replica, Stamp(position, peer, 0))
        if isinstance(outcome, Rejected):
            turned_away.append(peer)
            continue
        replica = outcome
        assert broken(replica) == []
        if kind == "prepare-join" and "after_prepare" in case:
            assert dict(replica.prepared) == case["after_prepare"]["prepared"]
    if "pairs_after" in case:
        assert dict(replica.pairs) == case["pairs_after"]
    if "members_after" in case:
        assert sorted(replica.members) == sorted(case["members_after"])
    assert turned_away == case.get("aborted_after", [])
