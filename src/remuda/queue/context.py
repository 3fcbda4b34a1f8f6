"""What a handler is given: a message, and a context to make others with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from remuda.errors import BadMessage
from remuda.peer.lost import Lost
from remuda.queue.model import Failure, NewMessage
from remuda.queue.reports import EMITS_MAX, Emitted
from remuda.queue.takeable import Taken


class Message(Struct, frozen=True):
    """A message, as a handler sees it."""

    body: bytes
    key: str = ""
    headers: Mapping[str, str] = {}
    queue: str = ""
    part: int = 0
    position: int = 0
    attempt: int = 1
    """Which time it is handled, counted from 1, as far as failures were told."""
    sent_ms: int = 0
    failures: tuple[Failure, ...] = ()
    """Why it is a dead letter that was sent back, if it is one."""

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self, kind: Any = Any) -> Any:
        """The body, read as JSON; as a value of a type, if one is given."""
        return msgspec.json.decode(self.body, type=kind)


class Context:
    """What a handler may use while it handles a message, or several at once.

    What it emits is sent if and only if what it handles is done: both are one commit. Nothing is
    sent when the handler raises, or when another worker has the partition by then.

    `epoch` is larger with every owner of the partition: a store that is written to from handlers
    can refuse one that is smaller than it has seen. `lost` is set when the partition is not this
    worker's any more; what is handled then will be handled again elsewhere.
    """

    def __init__(
        self,
        queue: str,
        group: str,
        messages: Sequence[Message],
        *,
        epoch: int = 0,
        lost: Lost | None = None,
    ) -> None:
        self.queue = queue
        self.group = group
        self.epoch = epoch
        self.lost = lost or Lost()
        self.emitted: list[Emitted] = []
        self._messages = tuple(messages)

    def emit(
        self,
        queue: str,
        body: bytes,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        delay_ms: int = 0,
        ttl_ms: int = 0,
        of: Message | None = None,
        tracked: bool = True,
    ) -> None:
        """Send a message when this one is done. It belongs to the tree of the one that is handled,
        if that has one, unless it is not `tracked`. A handler of batches says which message it is
        made `of`; if it does not, it is the last."""
        message = NewMessage(body, key, headers or {}, "", delay_ms, ttl_ms)
        self.emit_message(queue, message, of=of, tracked=tracked)

    def emit_message(
        self,
        queue: str,
        message: NewMessage,
        *,
        of: Message | None = None,
        tracked: bool = True,
    ) -> None:
        """`emit`, with a message that is made already."""
        if len(self.emitted) == EMITS_MAX:
            raise BadMessage(
                f"a handler has emitted {EMITS_MAX} messages and wants to emit more: let it emit "
                "messages whose handlers emit the rest"
            )
        by = (of or self._messages[-1]).position
        self.emitted.append(Emitted(by, queue, message, tracked))

    def emit_json(self, queue: str, value: Any, *, key: str = "", **rest: Any) -> None:
        """`emit`, with anything that JSON can say as the body."""
        self.emit(queue, msgspec.json.encode(value), key=key, **rest)


def message_of(queue: str, part: int, taken: Taken) -> Message:
    message = taken.message
    return Message(
        message.body,
        message.key,
        message.headers,
        queue,
        part,
        taken.position,
        taken.attempt,
        message.sent_ms,
        message.failures,
    )
