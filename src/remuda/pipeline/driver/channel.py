"""The driver's side of the socket: lines in, lines out, from more than one thread."""

from __future__ import annotations

import select
import socket
from threading import Lock

from remuda.pipeline.driver.messages import (
    FromDriver,
    LastWord,
    ToDriver,
    line_of,
    to_driver,
)

_READ_BYTES = 65536
_LOCK_TIMEOUT_S = 1.0


class Channel:
    """Nothing is said after the last word, whichever thread comes first with one."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._buffer = b""
        self._sending = Lock()
        self._closed = False

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive(self) -> list[ToDriver] | None:
        """What came, when something did; None when the peer is gone."""
        try:
            read = self._socket.recv(_READ_BYTES)
        except ConnectionError:
            return None
        if not read:
            return None
        *lines, self._buffer = (self._buffer + read).split(b"\n")
        return [to_driver(line) for line in lines]

    def send(self, message: FromDriver) -> None:
        """Waits as long as the peer does not read. That the peer is gone, `receive` tells."""
        with self._sending:
            self._write(message)

    def send_soon(self, message: FromDriver) -> None:
        """Rather not at all than wait for a peer that does not read."""
        if not self._sending.acquire(timeout=_LOCK_TIMEOUT_S):
            return
        try:
            if select.select([], [self._socket], [], 0)[1]:
                self._write(message)
        finally:
            self._sending.release()

    def _write(self, message: FromDriver) -> None:
        if self._closed:
            return
        self._closed = isinstance(message, LastWord)
        try:
            self._socket.sendall(line_of(message))
        except ConnectionError:
            self._closed = True
