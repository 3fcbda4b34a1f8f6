"""Reading the ring: who watches, who may stitch in a joiner, where a joiner stands."""

from __future__ import annotations

from collections.abc import Mapping

from remuda.replica.state import PeerId, Replica


def watcher_of(replica: Replica, peer: PeerId) -> PeerId | None:
    return key_of(replica.pairs, peer)


def key_of(mapping: Mapping[PeerId, PeerId], value: PeerId) -> PeerId | None:
    for key, other in mapping.items():
        if other == value:
            return key
    return None


def candidates(replica: Replica, joiner: PeerId) -> list[PeerId]:
    """The members that may observe a joiner now, sorted.

    One that stitches somebody in already may not. Nor may the watcher of one that was only just
    asked to: the two would change neighbouring links of the ring at once.
    """
    taken = {*replica.prepared, *replica.accepted, joiner}
    taken |= {w for w, watched in replica.pairs.items() if watched in replica.prepared}
    return sorted(peer for peer in replica.members if peer not in taken)


def busy(replica: Replica) -> frozenset[PeerId]:
    """Whose being alive or not decides whether a joiner that was turned away ever gets in.

    If every member and every joiner died at once, nobody who could report it is in the ring: a
    joiner that finds no observer has to look at those who are in its way itself.
    """
    stages = (replica.prepared, replica.accepted)
    return frozenset(peer for stage in stages for pair in stage.items() for peer in pair)


def is_joining(replica: Replica, peer: PeerId) -> bool:
    return key_of(replica.prepared, peer) is not None or key_of(replica.accepted, peer) is not None


def is_known(replica: Replica, peer: PeerId) -> bool:
    return peer in replica.peers


def watches(replica: Replica, me: PeerId) -> frozenset[PeerId]:
    """Whose pulse a peer has to watch, as things stand.

    A member: the next in the ring, and the joiner that it stitches in. A joiner: its observer
    until it is notified, so that a dying observer cannot strand it; then the peer that it is
    going to watch, which is whoever its observer watches now.
    """
    wanted: set[PeerId] = set()
    if me in replica.pairs:
        wanted.add(replica.pairs[me])
    for stage in (replica.prepared, replica.accepted):
        if me in stage:
            wanted.add(stage[me])
    observer = key_of(replica.prepared, me)
    if observer is not None:
        wanted.add(observer)
    observer = key_of(replica.accepted, me)
    if observer is not None:
        wanted.add(replica.pairs.get(observer, observer))
    return frozenset(wanted)
