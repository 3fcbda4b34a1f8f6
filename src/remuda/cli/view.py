"""A cluster drawn for people, and described for scripts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.table import Table

from remuda.cli.output import plain
from remuda.ownership.plan import plan
from remuda.replica.fold import Played
from remuda.replica.pool import Pool
from remuda.replica.ring import key_of
from remuda.replica.state import PeerId, Replica


def described(replica: Replica) -> dict[str, Any]:
    """What `status --json` and `log --at --json` print."""
    return {
        "position": replica.position,
        "collected": replica.collected,
        "peers": [
            {
                "id": peer,
                "pid": replica.peers[peer].pid,
                "host": replica.peers[peer].host,
                "state": state_of(replica, peer),
                "watches": replica.pairs.get(peer),
            }
            for peer in in_ring_order(replica)
        ],
        "services": [described_service(name, pool) for name, pool in sorted(replica.pools.items())],
    }


def described_service(name: str, pool: Pool) -> dict[str, Any]:
    return {
        "name": name,
        "members": len(pool.members),
        "units": len(pool.units),
        "owned": sum(unit.owner is not None for unit in pool.units.values()),
        "balance": pool.balance,
        "handoff": "overlapping" if pool.overlap else "exclusive",
        "waiting": dict(plan(pool).waiting),
    }


def state_of(replica: Replica, peer: PeerId) -> str:
    """`member`; or how far a joiner has come: `prepared` (has an observer), `accepted`."""
    if peer in replica.members:
        return "member"
    return "prepared" if key_of(replica.prepared, peer) is not None else "accepted"


def in_ring_order(replica: Replica) -> list[PeerId]:
    """Members as they watch each other, from the oldest; then joiners."""
    ordered: list[PeerId] = list(replica.members[:1])
    while ordered and (following := replica.pairs.get(ordered[-1])) not in (None, ordered[0]):
        ordered.append(str(following))
    return ordered + [peer for peer in replica.peers if peer not in replica.members]


def peers_table(replica: Replica) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    counts = Counter(unit.owner for pool in replica.pools.values() for unit in pool.units.values())
    for column in ("peer", "state", "watches", "host", "pid", *(["units"] if counts else [])):
        table.add_column(column, justify="right" if column in ("pid", "units") else "left")
    for peer in in_ring_order(replica):
        state = state_of(replica, peer)
        colour = "green" if state == "member" else "yellow"
        info = replica.peers[peer]
        watched = replica.pairs.get(peer)
        table.add_row(
            f"[bold]{peer}[/]",
            f"[{colour}]{state}[/]",
            f"→ {watched}" if watched else "",
            plain(info.host),
            str(info.pid),
            *([str(counts[peer])] if counts else []),
        )
    return table


def services_table(replica: Replica) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("service", "members", "units", "owned", "balance", "handoff"):
        table.add_column(column, justify="right" if column in ("units", "owned") else "left")
    for name, pool in sorted(replica.pools.items()):
        row = described_service(name, pool)
        colour = "green" if row["owned"] == row["units"] else "yellow"
        table.add_row(
            f"[bold]{plain(name)}[/]",
            str(row["members"]),
            str(row["units"]),
            f"[{colour}]{row['owned']}[/]",
            row["balance"],
            row["handoff"],
        )
    return table


def waiting_lines(replica: Replica, most: int = 20) -> list[str]:
    """Which units have no owner, and why."""
    lines = [
        f"[yellow]{plain(unit)} of {plain(name)} waits:[/] {plain(reason)}"
        for name, pool in sorted(replica.pools.items())
        for unit, reason in plan(pool).waiting.items()
    ]
    more = len(lines) - most
    return [*lines[:most], f"… and {more} more"] if more > 0 else lines


def summary(replica: Replica) -> str:
    members, joiners = len(replica.members), len(replica.peers) - len(replica.members)
    text = f"{members} member{'' if members == 1 else 's'}"
    if joiners:
        text += f", {joiners} joining"
    return f"{text}, at entry {replica.position}"


def outcome(played: Played) -> str:
    """What an entry did, for people."""
    if played.rejected is not None:
        return f"rejected: {plain(played.rejected)}"
    return "; ".join(map(plain, played.facts)) or "no change"
