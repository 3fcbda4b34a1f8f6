"""Everything that can go wrong is in one tree, says what it is, and has an exit code."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from remuda import errors
from remuda.errors import Collected, RemudaError

CLASSES: list[type[Any]] = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and value.__module__ == errors.__name__
]

each_error = pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)


@each_error
def test_an_error_descends_from_the_root(error: type[RemudaError]) -> None:
    assert issubclass(error, RemudaError)
    assert issubclass(error, Exception)


@each_error
def test_an_error_says_in_a_sentence_what_has_happened(error: type[RemudaError]) -> None:
    doc = vars(error).get("__doc__")
    assert doc, f"give {error.__name__} a docstring"
    assert doc.strip().endswith(".")


@each_error
def test_an_error_exits_with_1_or_with_2_when_the_user_asked_for_what_cannot_be(
    error: type[RemudaError],
) -> None:
    assert error.exit_code in (1, 2)


def test_what_the_user_got_wrong_exits_with_2() -> None:
    wrong = {error.__name__ for error in CLASSES if error.exit_code == 2}
    assert {"BadConfig", "BadAddress"} <= wrong


def test_a_collected_entry_is_answered_with_the_origin_to_go_on_from() -> None:
    error = Collected("entry 3 has been collected", origin=7)
    assert (str(error), error.origin) == ("entry 3 has been collected", 7)
