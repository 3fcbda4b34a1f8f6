"""The way to a partition, whichever node owns it: the port between kinds of work and a node."""

from __future__ import annotations

from typing import Protocol

from remuda.partition.machine import Rejected
from remuda.partition.runtime import Partition


class Route(Protocol):
    @property
    def partitions(self) -> int:
        """How many the cluster has; raises `NotServed` as long as this node does not know."""
        ...

    def here(self, partition: int) -> Partition | None:
        """It, if this node has it open."""
        ...

    def owner(self, partition: int) -> str:
        """The address of the node that owns it now; "" if nobody does, or it has none."""
        ...

    async def owner_changed(self, partition: int, since: str) -> None:
        """When the owner's address is another one; or, without one, a moment later."""
        ...

    async def submit(
        self, partition: int, machine: str, command: bytes, *, repeatable: bool = True
    ) -> bytes | Rejected:
        """Have its owner apply a command. Waits, for a time, while there is no owner.

        Raises `NotServed` or `Busy` if nothing has happened. If an answer is lost, a `repeatable`
        command is submitted again, and for another one `Uncertain` is raised.
        """
        ...

    async def ask(self, partition: int, machine: str, question: bytes) -> bytes:
        """What its owner answers to a question, which changes nothing."""
        ...
