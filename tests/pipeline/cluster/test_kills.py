"""Drivers, JVMs, Python workers and leads killed at random moments: output exactly once."""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from remuda.config import Config
from remuda.peer.local import LocalCluster
from remuda.pipeline.driver.descendants import living_in
from remuda.pipeline.io.ledger.log import Ledger
from remuda.replica.jobs import JobState
from tests.cli.commands import asked
from tests.clusters import closed_over, replica_of, started
from tests.waiting import wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3000)]

KILLS = int(os.environ.get("KILLS", "20"))
PATIENCE_S = 300.0
ROWS = 4000

Victim = Literal["driver", "JVM", "worker", "lead"]
VICTIMS: tuple[Victim, ...] = ("driver", "JVM", "worker", "lead")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Three nodes, each with a warm spare once there are jobs."""
    here = pytest.MonkeyPatch()
    modules = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    here.setenv("PYTHONPATH", os.pathsep.join(modules))
    config = Config(
        data=str(tmp_path_factory.mktemp("kills")),
        session_timeout_s=3.0,
        slots=2,
        driver_memory_mb=512,
        check_invariants=True,
    )
    with LocalCluster(config) as running:
        started(running, 3)
        yield running
    here.undo()


def test_a_sealed_output_is_there_once_whatever_was_killed(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    chance = random.Random(11)
    source = tmp_path / "in"
    source.mkdir()
    for number in range(8):
        lines = (json.dumps({"n": n}) for n in range(number, ROWS, 8))
        (source / f"{number}.json").write_text("\n".join(lines))
    recoveries: list[float] = []
    for number in range(KILLS):
        name, out = f"sealed-{number}", tmp_path / f"out-{number}"
        submit(cluster, name, batch_job(source, out, pause_s=0.002))
        wait_until(lambda name=name: drives(cluster, name), "it is driven", PATIENCE_S)
        time.sleep(chance.uniform(0, 8))
        recovered = kill(cluster, name, VICTIMS[number % len(VICTIMS)])
        ended = wait_until(lambda name=name: end_of(cluster, name), "it ends", PATIENCE_S)
        assert ended.phase == "completed", ended.reason
        assert numbers_in(out) == Counter(range(ROWS))
        recoveries += recovered
    tell("sealed", recoveries)


def test_a_stream_from_offsets_to_files_is_exact_whatever_was_killed(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    chance = random.Random(12)
    ledger = Ledger.open(tmp_path / "ledger", 2)
    out = tmp_path / "out"
    sent = feed(ledger, 0)
    submit(cluster, "stream", stream_job(tmp_path / "ledger", out))
    wait_until(lambda: numbers_in(out), "the first epoch is there", PATIENCE_S)
    recoveries: list[float] = []
    for number in range(KILLS):
        sent = feed(ledger, sent)
        time.sleep(chance.uniform(0, 4))
        recoveries += kill(cluster, "stream", VICTIMS[number % len(VICTIMS)])
        # What came before the kill is there before the next one: a restart takes its time.
        wait_until(lambda sent=sent: len(numbers_in(out)) >= sent, "it catches up", PATIENCE_S)
        assert numbers_in(out) == Counter(range(sent))
    asked("job", "kill", "stream", "--data", cluster.config.data)
    ended = wait_until(lambda: end_of(cluster, "stream"), "it ends", PATIENCE_S)
    assert ended.phase == "killed"
    assert numbers_in(out) == Counter(range(sent))
    tell("stream", recoveries)


# ── what is killed ───────────────────────────────────────────────────────────────────────────


def kill(cluster: LocalCluster, job: str, victim: Victim) -> list[float]:
    """Kill one process of the job, and answer how long it took until the job was driven again, if
    it was driven at all."""
    before = drives(cluster, job)
    if before is None:
        return []
    pid = pid_of(cluster, job, victim)
    if pid is None:
        return []
    began = time.monotonic()
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return []
    if victim == "lead":
        dead = next(peer for peer in cluster.peers if peer.pid == pid)
        dead.wait()
        cluster.peers.remove(dead)
        cluster.start_peer()
    if victim == "worker":
        return []

    def again() -> bool:
        state = replica_of(cluster.config).jobs[job]
        if state.is_ended:
            return True
        shown: Any = asked("job", "show", job, "--data", cluster.config.data)["driver"]
        if shown is None or state.epoch == before.epoch:
            return False
        return bool(shown["epoch"] == state.epoch and shown["started"])

    wait_until(again, f"{job} is driven again after its {victim} was killed", PATIENCE_S)
    if victim == "lead":
        closed_over(cluster)
    return [time.monotonic() - began]


def pid_of(cluster: LocalCluster, job: str, victim: Victim) -> int | None:
    replica = replica_of(cluster.config)
    lead = replica.jobs[job].lead
    if lead is None:
        return None
    if victim == "lead":
        return replica.peers[lead].pid
    shown = asked("job", "show", job, "--data", cluster.config.data)["driver"]
    if shown is None:
        return None
    driver = int(shown["driver_pid"])
    if victim == "driver":
        return driver
    wanted = "java" if victim == "JVM" else "pyspark.daemon"
    found = [pid for pid in living_in(driver) if wanted in command_of(pid)]
    # The daemon itself is older than its workers.
    return (found[0] if victim == "JVM" else found[-1]) if found else None


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────


def submit(cluster: LocalCluster, name: str, job: dict[str, Any]) -> None:
    file = Path(cluster.config.data) / f"{name}.json"
    file.write_text(json.dumps({"id": name, **job}))
    asked("job", "submit", str(file), "--data", cluster.config.data)


def batch_job(source: Path, out: Path, pause_s: float) -> dict[str, Any]:
    return {
        "workflow": [["in", "double"], ["double", "out"]],
        "catalog": [
            {
                "name": "in",
                "type": "input",
                "plugin": "json",
                "options": {"path": str(source)},
                "schema": "n long",
            },
            {
                "name": "double",
                "type": "function",
                "fn": "counting:double",
                "params": {"pause_s": pause_s},
            },
            output(out),
        ],
    }


def stream_job(ledger: Path, out: Path) -> dict[str, Any]:
    return {
        "mode": "continuous",
        "workflow": [["in", "double"], ["double", "out"]],
        "catalog": [
            {
                "name": "in",
                "type": "input",
                "plugin": "ledger",
                "options": {"path": str(ledger), "max_rows": 100},
                "schema": "n long",
            },
            {"name": "double", "type": "function", "fn": "counting:double"},
            output(out),
        ],
    }


def output(path: Path) -> dict[str, Any]:
    return {"name": "out", "type": "output", "plugin": "json", "options": {"path": str(path)}}


def feed(ledger: Ledger, start: int, count: int = 300) -> int:
    ledger.append([(n % 2, json.dumps({"n": n})) for n in range(start, start + count)])
    return start + count


# ── what came of it ──────────────────────────────────────────────────────────────────────────


def numbers_in(out: Path) -> Counter[int]:
    """Every row that a raw listing shows. A file may be moved into place while we look."""
    while True:
        try:
            texts = [path.read_text() for path in sorted(out.rglob("part-*.json"))]
        except FileNotFoundError:
            continue
        return Counter(json.loads(line)["n"] for text in texts for line in text.splitlines())


def drives(cluster: LocalCluster, job: str) -> JobState | None:
    state = replica_of(cluster.config).jobs[job]
    return state if state.phase in ("running", "sealing") or state.is_ended else None


def end_of(cluster: LocalCluster, job: str) -> JobState | None:
    state = replica_of(cluster.config).jobs[job]
    return state if state.is_ended and state.lead is None else None


def tell(what: str, recoveries: list[float]) -> None:
    middle = statistics.median(recoveries) if recoveries else 0.0
    worst = max(recoveries, default=0.0)
    print(
        f"\n{what}: {KILLS} kills, output exactly once; driven again after p50 {middle:.1f} s, "
        f"max {worst:.1f} s of {len(recoveries)}"
    )
