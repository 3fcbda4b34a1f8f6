"""Jobs without a cluster, as the example's readers run them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

EXAMPLE = Path(__file__).parents[2] / "examples" / "pipeline"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, with some orders."""
    folder = tmp_path_factory.mktemp("example") / "pipeline"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("data", "out", "__pycache__"))
    subprocess.run([sys.executable, "make_orders.py", "2000"], cwd=folder, check=True)
    return folder


def job(here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "remuda.cli.main", "job", *words, "--data", str(here / ".remuda")],
        cwd=here,
        env={**os.environ, "COLUMNS": "100", "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def rows(folder: Path) -> list[dict[str, Any]]:
    lines = [line for file in folder.glob("*.json") for line in file.read_text().splitlines()]
    return [row for line in lines if "job" not in (row := json.loads(line))]


def test_a_job_is_checked_without_spark(here: Path) -> None:
    answer = job(here, "check", "orders.yaml", "--no-spark", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["passes"] == [
        "orders (input): one pass in Python through price to by-minute (windows), big (output), "
        "rejected (output)",
        "by-minute (windows): as it is, without Python, to minutes (output)",
    ]
    shown = job(here, "check", "orders.yaml", "--no-spark").stdout
    assert "the job is valid" in shown
    assert "└──" in shown


def test_everything_that_is_wrong_is_told_at_once(here: Path) -> None:
    text = (here / "orders.yaml").read_text()
    text = text.replace("orders:is_over", "orders:is_ovr").replace(
        "plugin: parquet", "plugin: parket"
    )
    (here / "wrong.yaml").write_text(text)
    answer = job(here, "check", "wrong.yaml")
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert "the job has 2 problems" in answer.stderr
    assert "did you mean `is_over`?" in answer.stderr
    assert "did you mean `parquet`?" in answer.stderr


def test_a_job_is_run_here_and_now_and_not_twice(here: Path) -> None:
    answer = job(here, "run", "orders.yaml", "--json")
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout.splitlines()[-1])
    rejected, big = rows(here / "out" / "rejected"), rows(here / "out" / "big")
    assert told["rows"]["rejected"] == len(rejected)
    assert told["rows"]["big"] == len(big)
    assert told["edges"]["orders → price"] == 2000
    assert told["edges"]["price → by-minute"] == 2000 - len(rejected)
    assert Counter(row["reason"] for row in rejected) == {
        "ValueError: could not convert string to float: 'a lot'": len(rejected)
    }
    assert all(row["euros"] > 900 for row in big)
    again = job(here, "run", "orders.yaml")
    assert again.returncode != 0
    assert "mode" in again.stderr
    assert len(again.stderr.splitlines()) == 1
    assert not list((here / "out").glob(".remuda-staged*"))
