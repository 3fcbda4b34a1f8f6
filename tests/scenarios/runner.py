"""Reads a scenario, drives a cluster through it, and writes it again as it went."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from remuda.replica.state import Replica
from tests.scenarios.cluster import Cluster, entry_line

_RULE = "----"

Words = list[str]
Verb = Callable[[Cluster, Words], list[str]]


class BadScenario(Exception):
    """A line that is no command, or a command that makes no sense where it stands."""


def run(text: str) -> str:
    """The scenario with what really happened; equal to `text` if that is what it says."""
    cluster = Cluster()
    told: list[str] = []
    block_is_open = False
    for number, line in _without_expectations(text):
        if block_is_open and line:
            told.append("")
        told.append(line)
        block_is_open = False
        if line and not line.startswith("#"):
            outcome = _do(cluster, line, number)
            told += [_RULE, *outcome] if outcome else []
            block_is_open = bool(outcome)
    return "\n".join(told).rstrip("\n") + "\n"


def _without_expectations(text: str) -> Iterator[tuple[int, str]]:
    expected = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line == _RULE:
            expected = True
        elif not line:
            expected = False
        if not expected:
            yield number, line


def _do(cluster: Cluster, line: str, number: int) -> list[str]:
    name, *words = line.split()
    if name not in VERBS:
        known = ", ".join(sorted(VERBS))
        raise BadScenario(f"line {number}, `{line}`: no such command; there are {known}")
    cluster.story = []
    try:
        return VERBS[name](cluster, words)
    except ValueError as error:
        raise BadScenario(f"line {number}, `{line}`: {error}") from error


# ── verbs ────────────────────────────────────────────────────────────────────────────────────


def _each(act: Callable[[Cluster, str], None]) -> Verb:
    """A verb that names one peer or more, and does the same to each."""

    def verb(cluster: Cluster, names: Words) -> list[str]:
        if not names:
            raise ValueError("name a peer")
        for name in names:
            act(cluster, name)
        return cluster.story

    return verb


def _start(cluster: Cluster, names: Words) -> list[str]:
    for name in names:
        cluster.join(name)
        cluster.deliver()
        if not cluster.peer(name).core.is_member:
            raise ValueError(f"{name} is not a member after all was said")
    return []


def _deliver(cluster: Cluster, names: Words) -> list[str]:
    cluster.deliver(*names)
    return cluster.story


def _advance(cluster: Cluster, words: Words) -> list[str]:
    (seconds,) = words
    cluster.advance(float(seconds))
    return cluster.story


def _gc(cluster: Cluster, words: Words) -> list[str]:
    _nothing_more(words)
    cluster.collect()
    return cluster.story


def _gc_at(cluster: Cluster, words: Words) -> list[str]:
    (entries,) = words
    cluster.collect_at(int(entries))
    return []


def _log(cluster: Cluster, words: Words) -> list[str]:
    _nothing_more(words)
    origin = cluster.log.origin_now()
    first = 0 if origin is None else origin.position + 1
    head = [] if origin is None else [f"origin: entry {origin.position}"]
    return [*head, *map(entry_line, cluster.plays[first:])]


def _ring(cluster: Cluster, words: Words) -> list[str]:
    _nothing_more(words)
    replica = cluster.replica
    stages = (("prepared", replica.prepared), ("accepted", replica.accepted))
    joiners = [
        f"{observer} stitches in {joiner}: {stage}"
        for stage, pairs in stages
        for observer, joiner in sorted(pairs.items())
    ]
    return [_drawn(replica), *joiners]


def _drawn(replica: Replica) -> str:
    if not replica.members:
        return "nobody"
    walk = [min(replica.members)]
    while (following := replica.pairs.get(walk[-1])) is not None:
        walk.append(following)
        if following == walk[0]:
            break
    return " → ".join(walk)


def _watches(cluster: Cluster, words: Words) -> list[str]:
    _nothing_more(words)
    return [
        f"{peer.me} watches {', '.join(sorted(peer.core.watching)) or 'nobody'}"
        for peer in cluster.peers.values()
        if peer.alive
    ]


def _work(cluster: Cluster, words: Words) -> list[str]:
    _nothing_more(words)
    return [
        f"{peer.me} {'works' if peer.core.working else 'does not work'}"
        for peer in cluster.peers.values()
        if peer.alive
    ]


def _nothing_more(words: Words) -> None:
    if words:
        raise ValueError(f"what should `{' '.join(words)}` mean here?")


VERBS: dict[str, Verb] = {
    "start": _start,
    "join": _each(Cluster.join),
    "deliver": _deliver,
    "kill": _each(Cluster.kill),
    "silence": _each(Cluster.silence),
    "freeze": _each(Cluster.freeze),
    "wake": _each(Cluster.wake),
    "suspend": _each(Cluster.suspend),
    "resume": _each(Cluster.resume),
    "lose": _each(Cluster.lose),
    "leave": _each(Cluster.leave),
    "advance": _advance,
    "gc": _gc,
    "gc-at": _gc_at,
    "log": _log,
    "ring": _ring,
    "watches": _watches,
    "work": _work,
}
