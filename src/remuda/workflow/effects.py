"""What the world is told when a command is durable. Hints: the state says the same."""

from __future__ import annotations

from msgspec import Struct


class TaskScheduled(Struct, frozen=True):
    """A task waits for a worker."""

    tenant: str
    task_def: str
    run: str
    guid: str


class EventThrown(Struct, frozen=True):
    """A run has thrown a WorkflowEvent."""

    tenant: str
    run: str
    event: str
    number: int


class RunEnded(Struct, frozen=True):
    tenant: str
    run: str


class DefinitionChanged(Struct, frozen=True):
    """A definition was put or deleted: whoever keeps copies reads it again."""

    tenant: str
    kind: str
    name: str
