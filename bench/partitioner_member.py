"""The same process with kazoo's `SetPartitioner`: the loop that its documentation shows.

Whatever the members become, it gives up everything and divides anew. It waits for the party to be
still for `time_boundary`, which is 30 s unless told otherwise: here it is Remuda's settle time.
"""

# kazoo carries no types.
# pyright: basic
from __future__ import annotations

import signal

from kazoo.client import KazooClient
from kazoo.recipe.partitioner import SetPartitioner

from bench.service_member import SERVICE, Brief, Journal, briefed, unit_names


def main() -> None:
    brief, journal = briefed()
    signal.signal(signal.SIGUSR1, lambda *_: journal.tell_beats())
    assert brief.config.zookeeper is not None
    client = KazooClient(hosts=brief.config.zookeeper, timeout=brief.config.session_timeout_s)
    client.start()
    try:
        _serve(client, brief, journal)
    finally:
        client.stop()
        client.close()


def _serve(client: KazooClient, brief: Brief, journal: Journal) -> None:
    changed = client.handler.event_object()
    partitioner = SetPartitioner(
        client,
        f"/{SERVICE}",
        unit_names(brief.units),
        identifier=brief.name,
        time_boundary=round(brief.config.settle_time_s),
        state_change_event=changed,
    )
    serves: list[str] = []
    while not partitioner.failed:
        changed.clear()
        if partitioner.release:
            for unit in serves:
                journal.note("stop", unit)
            serves = []
            partitioner.release_set()
        elif partitioner.acquired:
            if not serves:
                serves = list(partitioner)
                for unit in serves:
                    journal.note("start", unit)
            for unit in serves:
                journal.beat(unit)
            changed.wait(brief.beat_s)
        else:
            partitioner.wait_for_acquire(round(brief.config.session_timeout_s))


if __name__ == "__main__":
    main()
