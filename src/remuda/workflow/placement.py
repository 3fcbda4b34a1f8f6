"""Which partition has what.

A run is in the partition of its oldest ancestor's id, so parents and children share one. A
correlated event is in the partition of its key, a schedule in that of its id. Definitions are made
in one partition, and every other one is told.
"""

from __future__ import annotations

from hashlib import blake2b

from littlehorse.model.object_id_pb2 import WfRunId

DEFINITIONS = 0
"""The partition in which definitions are made."""


def partition_of_run(tenant: str, run_id: WfRunId, partitions: int) -> int:
    while run_id.HasField("parent_wf_run_id"):
        run_id = run_id.parent_wf_run_id
    return _spread(f"run/{tenant}/{run_id.id}", partitions)


def partition_of_correlation(tenant: str, event: str, correlation: str, partitions: int) -> int:
    return _spread(f"event/{tenant}/{event}/{correlation}", partitions)


def partition_of_schedule(tenant: str, schedule: str, partitions: int) -> int:
    return _spread(f"schedule/{tenant}/{schedule}", partitions)


def _spread(name: str, partitions: int) -> int:
    digest = blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % partitions
