"""The objects of one command: read once, changed in memory, written once at the end.

A message is parsed when it is first asked for and is the same one from then on. Whoever changes
it says so; `flush` writes what was changed, and its tags with it.
"""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import Message

from remuda.partition.machine import State
from remuda.workflow.tags import fixed_tags, has_moved, is_tagged, moving_tags

M = TypeVar("M", bound=Message)


class Objects:
    def __init__(self, state: State, tenant: str) -> None:
        self.state = state
        self.tenant = tenant
        self._held: dict[bytes, Message | None] = {}
        self._stored: dict[bytes, bytes] = {}
        self._changed: dict[bytes, None] = {}

    def get(self, key: bytes, kind: type[M]) -> M | None:
        held = self._held
        if key in held:
            return held[key]  # type: ignore[return-value]
        data = self.state.get(key)
        if data is None:
            held[key] = None
            return None
        message = kind.FromString(data)
        held[key] = message
        self._stored[key] = data
        return message

    def put(self, key: bytes, message: Message) -> None:
        """A new object, or a new message for an old one."""
        self._held[key] = message
        self._changed[key] = None

    def change(self, key: bytes) -> None:
        """What `get` or `put` gave for this key is about to be changed, or was."""
        self._changed[key] = None

    def delete(self, key: bytes) -> None:
        """The object and its tags, at once."""
        self._changed.pop(key, None)
        data = self._stored.pop(key, None) or self.state.get(key)
        held = self._held.get(key)
        self._held[key] = None
        if data is None:
            return
        if held is not None:
            old = type(held).FromString(data)
            for tag in (*fixed_tags(self.tenant, old), *moving_tags(self.tenant, old)):
                self.state.delete(tag)
        self.state.delete(key)

    def flush(self) -> None:
        for key in self._changed:
            self._write(key)
        self._changed.clear()

    def flush_one(self, key: bytes) -> None:
        """Write one object before the others, for those who scan."""
        self._changed.pop(key, None)
        self._write(key)

    def _write(self, key: bytes) -> None:
        message = self._held[key]
        if message is None:
            return
        data = message.SerializeToString(deterministic=True)
        stored = self._stored.get(key)
        if data == stored:
            return
        self._tag(message, stored)
        self.state.put(key, data)
        self._stored[key] = data

    def _tag(self, message: Message, stored: bytes | None) -> None:
        if not is_tagged(message):
            return
        state, tenant = self.state, self.tenant
        if stored is None:
            for tag, value in fixed_tags(tenant, message).items():
                state.put(tag, value)
        else:
            old = type(message).FromString(stored)
            if not has_moved(old, message):
                return
            for tag in moving_tags(tenant, old):
                state.delete(tag)
        for tag, value in moving_tags(tenant, message).items():
            state.put(tag, value)
