"""Errors travel: each has a code, and comes out at the other end as what it was."""

from __future__ import annotations

import grpc
import pytest

from remuda.errors import (
    Busy,
    CommandRejected,
    DiskFull,
    MachineFailed,
    NotServed,
    RemudaError,
    StaleEpoch,
    StoreFailed,
    Uncertain,
)
from remuda.partition.machine import Rejection
from remuda.wire.status import error_of, status_of


@pytest.mark.parametrize("kind", Rejection)
def test_every_rejection_has_a_code_of_its_own_and_comes_back_as_it_was(kind: Rejection) -> None:
    status = status_of(CommandRejected("no", kind.value))
    back = error_of(status.number, status.error, status.message)
    assert isinstance(back, CommandRejected)
    assert (str(back), back.kind) == ("no", kind.value)
    assert len({status_of(CommandRejected("", one.value)).code for one in Rejection}) == len(
        Rejection
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Busy("x"), grpc.StatusCode.RESOURCE_EXHAUSTED),
        (DiskFull("x"), grpc.StatusCode.RESOURCE_EXHAUSTED),
        (NotServed("x"), grpc.StatusCode.UNAVAILABLE),
        (Uncertain("x"), grpc.StatusCode.UNKNOWN),
        (StoreFailed("x"), grpc.StatusCode.UNKNOWN),
        (MachineFailed("x"), grpc.StatusCode.INTERNAL),
    ],
)
def test_an_error_comes_back_as_what_it_was(error: RemudaError, code: grpc.StatusCode) -> None:
    status = status_of(error)
    assert status.code is code
    back = error_of(status.number, status.error, status.message)
    assert (type(back), str(back)) == (type(error), "x")


def test_an_error_without_a_code_has_that_of_its_kind() -> None:
    assert status_of(StaleEpoch("x")).code is grpc.StatusCode.UNAVAILABLE
    assert status_of(RemudaError("x")).code is grpc.StatusCode.INTERNAL


def test_what_is_nobodys_error_is_internal_and_says_what_it_was() -> None:
    status = status_of(ValueError("odd"))
    assert (status.code, status.message) == (grpc.StatusCode.INTERNAL, "ValueError: odd")


def test_a_code_without_a_name_is_understood_as_far_as_it_goes() -> None:
    unavailable = error_of(grpc.StatusCode.UNAVAILABLE.value[0], "", "gone")
    assert type(unavailable) is NotServed
    refused = error_of(grpc.StatusCode.INVALID_ARGUMENT.value[0], "", "bad")
    assert isinstance(refused, CommandRejected)
    assert refused.kind == "invalid"
    late = error_of(grpc.StatusCode.DEADLINE_EXCEEDED.value[0], "", "x")
    assert str(late) == "deadline exceeded: x"
    assert "unknown: x" in str(error_of(999, "", "x"))


def test_a_long_message_is_cut() -> None:
    assert len(status_of(RemudaError("x" * 1_000_000)).message) == 2_000
