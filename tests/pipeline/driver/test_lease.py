"""Until when a driver may commit."""

from __future__ import annotations

import time

from remuda.pipeline.driver.lease import Lease


def test_a_lease_holds_until_the_latest_time_that_was_granted() -> None:
    lease = Lease()
    assert not lease.holds
    lease.extend(time.monotonic() + 3600)
    lease.extend(time.monotonic() - 3600)
    assert lease.holds


def test_a_beat_that_slept_in_a_buffer_extends_nothing() -> None:
    lease = Lease()
    lease.extend(time.monotonic() - 1)
    assert not lease.holds
