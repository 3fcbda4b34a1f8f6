"""What users may rely on: the public names, pinned. Taking one away breaks somebody."""

from __future__ import annotations

import importlib

import pytest

import remuda

PUBLIC = [
    "Config",
    "Content",
    "Context",
    "GiveUp",
    "Hooks",
    "LocalCluster",
    "Member",
    "Message",
    "Peer",
    "Queues",
    "RemudaError",
    "RetryDef",
    "Service",
    "Unit",
    "Worker",
    "consume",
    "handler",
    "interpret",
    "join",
    "read_job",
    "run_here",
    "serve",
    "work",
]


def test_the_public_names_are_these() -> None:
    assert sorted(remuda.__all__) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_can_be_imported(name: str) -> None:
    assert hasattr(importlib.import_module("remuda"), name)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_says_what_it_is(name: str) -> None:
    assert getattr(remuda, name).__doc__, f"give remuda.{name} a docstring"


def test_a_star_import_brings_them_and_nothing_else() -> None:
    brought: dict[str, object] = {}
    exec("from remuda import *", brought)
    assert sorted(set(brought) - {"__builtins__"}) == PUBLIC
