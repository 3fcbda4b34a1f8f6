"""Whose process may be ended for the store that it keeps, and whose may not: with a real one."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from remuda.errors import StoreLocked
from remuda.partition.rocks import RocksStore
from remuda.partition.tenant import (
    STOPPED_PATIENCE_S,
    Eviction,
    Tenant,
    moved_in,
    tenant_of,
)
from remuda.zookeeper.tether import tethered
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

EPOCH = 7


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = (sys.executable, "-m", "tests.partition.holding", str(tmp_path), "peer", str(EPOCH))
    process = subprocess.Popen(tethered(words), stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"open\n"
    yield process
    process.kill()
    process.wait()


class Case(NamedTuple):
    tenant: Tenant
    epoch: int = EPOCH + 1
    is_gone: bool = True


def evicted(home: Path, *cases: Case) -> Case | None:
    """The first that is, all asked for longer than a stopped process is waited for."""
    evictions = [Eviction(home, home / "store", case.epoch) for case in cases]
    decided_at = time.monotonic() + STOPPED_PATIENCE_S + 0.2
    while time.monotonic() < decided_at:
        for case, eviction in zip(cases, evictions, strict=True):
            if eviction.consider(case.is_gone, case.tenant):
                return case
        time.sleep(0.02)
    return None


def test_a_stopped_process_whose_peer_is_gone_is_ended_and_the_store_is_free(
    tmp_path: Path, holder: subprocess.Popen[bytes]
) -> None:
    tenant = tenant_of(tmp_path)
    assert tenant is not None
    assert (tenant.peer, tenant.epoch, tenant.pid) == ("peer", EPOCH, holder.pid)
    with pytest.raises(StoreLocked):
        RocksStore.open(tmp_path / "store", EPOCH + 1)
    assert evicted(tmp_path, Case(tenant)) is None, "it runs, and has time to close"
    holder.send_signal(signal.SIGSTOP)
    spared = evicted(
        tmp_path,
        Case(tenant, is_gone=False),
        Case(tenant, epoch=EPOCH),
        Case(replace(tenant, started=tenant.started + 1)),
        Case(replace(tenant, boot="another")),
        Case(replace(tenant, pid=2**22 - 1)),
    )
    assert spared is None
    assert holder.poll() is None
    assert evicted(tmp_path, Case(tenant)) is not None
    assert holder.wait(60) == -signal.SIGKILL
    RocksStore.open(tmp_path / "store", EPOCH + 1).close()


def test_a_stopped_process_that_does_not_hold_the_lock_is_left_alone(
    tmp_path: Path, holder: subprocess.Popen[bytes]
) -> None:
    tenant = tenant_of(tmp_path)
    assert tenant is not None
    holder.send_signal(signal.SIGSTOP)
    elsewhere = tmp_path / "elsewhere"
    RocksStore.open(elsewhere / "store", 1).close()
    assert evicted(elsewhere, Case(tenant)) is None
    assert holder.poll() is None


def test_a_process_that_hangs_is_ended_after_a_longer_while(
    tmp_path: Path, holder: subprocess.Popen[bytes]
) -> None:
    tenant = tenant_of(tmp_path)
    assert tenant is not None
    eviction = Eviction(tmp_path, tmp_path / "store", EPOCH + 1, hung_patience_s=0.3)
    began = time.monotonic()
    wait_until(lambda: eviction.consider(True, tenant), "it is ended")
    assert time.monotonic() - began >= 0.3
    assert holder.wait(60) == -signal.SIGKILL


def test_a_note_that_cannot_be_read_names_nobody(tmp_path: Path) -> None:
    assert tenant_of(tmp_path) is None
    moved_in(tmp_path, "me", 3)
    assert (tenant_of(tmp_path) or pytest.fail("no note")).peer == "me"
    (tmp_path / "tenant.json").write_text("{")
    assert tenant_of(tmp_path) is None
