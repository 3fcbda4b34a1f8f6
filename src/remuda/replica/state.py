"""The replica's state. Its dicts are never written to after it is made."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from remuda.errors import CorruptEntry
from remuda.replica.jobs import JobState, Offer, OfferedSlot
from remuda.replica.pool import PeerId, Pool
from remuda.replica.schedule.demand import JobId
from remuda.replica.schedule.jobs import JobScheduler
from remuda.replica.schedule.slots import SlotId


class PeerInfo(Struct, frozen=True, omit_defaults=True):
    """What a peer says of itself when it asks to join.

    A name, unlike an id, can outlive a restart: units may be pegged to either. A node has an
    address, host:port, where it takes calls.
    """

    host: str
    pid: int
    name: str = ""
    address: str = ""


class Replica(Struct, frozen=True, omit_defaults=True):
    position: int = -1
    peers: Mapping[PeerId, PeerInfo] = {}
    members: tuple[PeerId, ...] = ()
    pairs: Mapping[PeerId, PeerId] = {}
    prepared: Mapping[PeerId, PeerId] = {}
    accepted: Mapping[PeerId, PeerId] = {}
    collected: int = -1
    pools: Mapping[str, Pool] = {}
    offers: Mapping[PeerId, Offer] = {}
    slots: Mapping[SlotId, OfferedSlot] = {}
    jobs: Mapping[JobId, JobState] = {}
    job_scheduler: JobScheduler = "greedy"

    def digest(self) -> str:
        """Equal for equal replicas, on every peer and under every hash seed."""
        return hashlib.sha256(encode_replica(self)).hexdigest()


_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Replica)


def encode_replica(replica: Replica) -> bytes:
    return _encoder.encode(replica)


def decode_replica(data: bytes) -> Replica:
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise CorruptEntry(
            f"the origin of the cluster log cannot be read ({error}): restore /origin and "
            "/origins from a backup of ZooKeeper, or upgrade Remuda if a newer build wrote it"
        ) from None
