"""Every scenario goes as its file says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.scenarios.runner import VERBS, BadScenario, run

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_scenario_goes_as_its_file_says(file: Path) -> None:
    expected = file.read_text()
    happened = run(expected)
    if os.environ.get("REWRITE"):
        file.write_text(happened)
        return
    assert happened == expected, "if this is right: REWRITE=1 pytest tests/scenarios"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_scenario_begins_by_saying_what_it_is_about(file: Path) -> None:
    assert file.read_text().startswith("# ")


def test_every_command_is_used_by_some_scenario() -> None:
    lines = [line for file in FILES for line in file.read_text().splitlines() if line]
    assert {line.split()[0] for line in lines} >= set(VERBS)


# ── the runner notices ───────────────────────────────────────────────────────────────────────


def test_an_expectation_that_is_wrong_is_replaced_by_what_happened() -> None:
    assert run("start a\nring\n----\nb\n") == "start a\nring\n----\na\n"


def test_an_expectation_that_is_missing_is_added_and_set_apart() -> None:
    assert run("start a\nring\nwork\n") == "start a\nring\n----\na\n\nwork\n----\na works\n"


def test_comments_and_blank_lines_stay_where_they_are() -> None:
    text = "# nobody yet\n\nring\n----\nnobody\n\n# one of them\nstart a\n"
    assert run(text) == text


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("dance", "line 2, `dance`: no such command"),
        ("kill z", "no peer z that lives"),
        ("join a", "an id is never used twice"),
        ("kill", "name a peer"),
        ("ring b", "what should `b` mean here"),
        ("advance soon", "line 2, `advance soon`"),
        ("gc-at 5", "started already"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_with_its_number(line: str, complaint: str) -> None:
    with pytest.raises(BadScenario, match=complaint):
        run(f"start a\n{line}\n")
