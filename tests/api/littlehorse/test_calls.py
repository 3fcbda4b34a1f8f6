"""Every call has its place: a handler or a refusal, a right, a partition, a line in the docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.api.littlehorse.callers import FREE, RIGHTS
from remuda.api.littlehorse.calls_doc import calls_markdown
from remuda.api.littlehorse.handlers import METHODS
from remuda.api.littlehorse.service import IMPLEMENTED, UNIMPLEMENTED
from remuda.workflow.calls import CALLS
from remuda.workflow.homes import ONCE, home_of
from remuda.workflow.placement import DEFINITIONS
from remuda.workflow.questions import SEARCHES

ROOT = Path(__file__).parents[3]


def test_the_page_in_the_docs_is_what_the_code_says() -> None:
    fix = "run: .venv/bin/python -m remuda.api.littlehorse.calls_doc > docs/littlehorse.md"
    assert (ROOT / "docs" / "littlehorse.md").read_text() == calls_markdown(), fix


def test_a_call_is_implemented_or_refused() -> None:
    assert {*METHODS} == IMPLEMENTED | UNIMPLEMENTED
    assert not IMPLEMENTED & UNIMPLEMENTED


def test_a_call_that_is_implemented_needs_a_right_or_none_by_decision() -> None:
    assert {*RIGHTS} | FREE == IMPLEMENTED
    assert not {*RIGHTS} & FREE


def test_what_the_machine_can_do_is_offered() -> None:
    assert {call for call in CALLS if call in METHODS} <= IMPLEMENTED
    assert {*SEARCHES} <= IMPLEMENTED


@pytest.mark.parametrize("call", sorted(CALLS))
def test_a_call_that_changes_something_has_a_partition(call: str) -> None:
    request = CALLS[call][0]()
    home = home_of("default", call, request, "chosen", 1 << 32)
    is_definition = "Def" in call or "WfSpec" in call or "Tenant" in call or "Principal" in call
    assert (home == DEFINITIONS) == is_definition


def test_what_is_asked_only_once_is_there() -> None:
    assert {*CALLS} >= ONCE
