"""A job as it travels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remuda.pipeline.model.problems import BadJob
from remuda.pipeline.submission import decode_submission, encode_submission, submission_of


def job(**parts: Any) -> dict[str, Any]:
    return {
        "workflow": [["in", "out"]],
        "catalog": [
            {"name": "in", "type": "input", "plugin": "json", "options": {"path": "data/in"}},
            {"name": "out", "type": "output", "plugin": "json", "options": {"path": "/srv/out"}},
        ],
        **parts,
    }


def test_relative_paths_are_made_whole_and_others_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    read, written = submission_of(job()).job.catalog
    assert read.options["path"] == str(tmp_path / "data/in")
    assert written.options["path"] == "/srv/out"


def test_modules_are_found_from_here_and_from_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path / "jobs"
    beside.mkdir()
    (beside / "orders.json").write_text(json.dumps(job()))
    monkeypatch.chdir(tmp_path)
    submitted = submission_of("jobs/orders.json")
    assert submitted.python_path == (str(tmp_path), str(beside))
    assert submitted.id.startswith("orders-")


def test_a_job_without_an_id_is_another_each_time_and_one_with_an_id_the_same() -> None:
    assert submission_of(job()).id != submission_of(job()).id
    once, twice = (encode_submission(submission_of(job(id="orders"))) for _ in range(2))
    assert once == twice


def test_what_arrives_is_what_was_sent() -> None:
    sent = submission_of(job(id="orders", metadata={"team": "shop"}, partitions=3))
    assert decode_submission(encode_submission(sent)) == sent


def test_a_bad_job_is_refused_before_it_travels() -> None:
    with pytest.raises(BadJob, match="is not in the catalog"):
        submission_of(job(workflow=[["in", "owt"]]))
