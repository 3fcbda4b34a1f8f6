"""Jobs as a user runs them: real peers, real drivers, real kills."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remuda.config import Config
from remuda.peer.local import LocalCluster
from tests.cli.commands import asked, complaint, remuda
from tests.clusters import closed_over, process_of, replica_of, started
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

# A driver starts from nothing, beside others, on a machine that may be busy.
DRIVER_S = 240.0
ROWS = 1000


@pytest.fixture(scope="module")
def cluster(zookeeper: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Two nodes with two slots each; drivers that start soon rather than run fast."""
    data = tmp_path_factory.mktemp("cluster")
    quick = pytest.MonkeyPatch()
    quick.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
    here = str(Path(__file__).parent)
    quick.setenv("PYTHONPATH", os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
    config = Config(
        data=str(data),
        session_timeout_s=4.0,
        slots=2,
        spares=0,
        driver_memory_mb=512,
        check_invariants=True,
    )
    with LocalCluster(config) as running:
        started(running, 2)
        yield running
    quick.undo()


def job(folder: Path, **parts: Any) -> Path:
    """Numbers that are doubled, from files to files."""
    source = folder / "in"
    source.mkdir(exist_ok=True)
    for number in range(4):
        rows = range(number, ROWS, 4)
        lines = "".join(json.dumps({"n": n}) + "\n" for n in rows)
        (source / f"{number}.json").write_text(lines)
    file = folder / "job.json"
    file.write_text(
        json.dumps(
            {
                "workflow": [["in", "double"], ["double", "out"]],
                "catalog": [
                    {
                        "name": "in",
                        "type": "input",
                        "plugin": "json",
                        "options": {"path": str(source)},
                        "schema": "n long",
                    },
                    {"name": "double", "type": "function", "fn": "counting:double"},
                    {
                        "name": "out",
                        "type": "output",
                        "plugin": "json",
                        "options": {"path": str(folder / "out")},
                    },
                ],
                **parts,
            }
        )
    )
    return file


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """Every row that a raw listing of the output shows."""
    files = sorted(path for path in (folder / "out").rglob("part-*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def expected() -> list[dict[str, Any]]:
    return [{"n": n, "twice": 2 * n} for n in range(ROWS)]


def by_n(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["n"])


def test_a_job_is_scheduled_driven_and_sealed(cluster: LocalCluster, tmp_path: Path) -> None:
    told = asked("job", "submit", str(job(tmp_path)), "--id", "whole", "--wait", *at(cluster))
    assert told["state"] == "completed"
    assert by_n(rows_in(tmp_path)) == expected()
    shown = asked("job", "show", "whole", *at(cluster))
    assert shown["driver"]["progress"]["edges"]["in → double"] == ROWS
    again = asked("job", "submit", str(job(tmp_path)), "--id", "whole", *at(cluster))
    assert again["state"] == "completed"


def test_a_job_that_needs_more_slots_than_there_are_says_so(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    catalog = json.loads(job(tmp_path).read_text())["catalog"]
    catalog[1]["min_peers"] = 9
    told = asked("job", "submit", str(job(tmp_path, catalog=catalog)), "--id", "big", *at(cluster))
    assert (told["state"], told["reason"]) == ("waiting", "needs 11 slots, 4 exist")
    assert asked("job", "kill", "big", *at(cluster)) == {"id": "big", "state": "killed"}
    (listed,) = [row for row in asked("job", "list", *at(cluster)) if row["id"] == "big"]
    assert (listed["state"], listed["reason"]) == ("killed", "killed by hand")


def test_a_function_that_raises_kills_its_job_and_shows_nothing(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    catalog = json.loads(job(tmp_path).read_text())["catalog"]
    catalog[1]["fn"] = "counting:refuse_large"
    file = job(tmp_path, catalog=catalog)
    answer = remuda("job", "submit", str(file), "--id", "bad", "--wait", "--json", *at(cluster))
    assert answer.returncode == 1
    told = json.loads(answer.stdout)
    assert told["state"] == "killed"
    assert "ValueError" in told["reason"]
    assert "is too large" in told["reason"]
    assert "counting.py:" in told["reason"]
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir() if "staged" in path.name] == []


def test_what_is_wrong_with_a_job_is_said_before_it_is_submitted(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    catalog = json.loads(job(tmp_path).read_text())["catalog"]
    catalog[1]["fn"] = "counting:dubble"
    catalog[2]["options"] = {"paht": "x"}
    line = complaint("job", "submit", str(job(tmp_path, catalog=catalog)), *at(cluster), lines=4)
    assert "did you mean `double`?" in line
    assert "did you mean `path`?" in line
    assert "there is no job `nope`" in complaint("job", "show", "nope", *at(cluster))


def test_another_node_goes_on_with_a_stream_whose_lead_is_killed(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    catalog = json.loads(job(tmp_path).read_text())["catalog"]
    catalog[0]["options"]["maxFilesPerTrigger"] = 1
    catalog[1]["params"] = {"pause_s": 0.01}
    file = job(tmp_path, catalog=catalog, mode="available-now")
    asked("job", "submit", str(file), "--id", "stream", *at(cluster))
    wait_until(lambda: rows_in(tmp_path), "an epoch is there", DRIVER_S)
    before = replica_of(cluster.config)
    lead = before.jobs["stream"].lead
    assert lead is not None
    dying = process_of(cluster, before, lead)
    os.kill(dying.pid, signal.SIGKILL)
    dying.wait()
    cluster.peers.remove(dying)
    cluster.start_peer()
    closed_over(cluster)

    def ended() -> Any:
        stream = replica_of(cluster.config).jobs["stream"]
        return stream if stream.is_ended else None

    stream = wait_until(ended, "the stream ends", DRIVER_S)
    assert stream.phase == "completed"
    assert stream.restarts >= 1
    assert stream.epoch > before.jobs["stream"].epoch
    assert by_n(rows_in(tmp_path)) == expected()


def at(cluster: LocalCluster) -> list[str]:
    return ["--data", cluster.config.data]
