"""The driver's side of the socket."""

from __future__ import annotations

import contextlib
import socket

from remuda.pipeline.driver.channel import Channel
from remuda.pipeline.driver.messages import Beat, Failed, Seal, Sealed, line_of


def test_messages_are_read_whole_however_they_arrive() -> None:
    peer, end = socket.socketpair()
    with peer, end:
        channel = Channel(end)
        beat, seal = line_of(Beat(1.0)), line_of(Seal())
        peer.sendall(beat + seal[:5])
        assert channel.receive() == [Beat(1.0)]
        peer.sendall(seal[5:] + beat)
        assert channel.receive() == [Seal(), Beat(1.0)]
        peer.close()
        assert channel.receive() is None


def test_nothing_is_said_after_the_last_word() -> None:
    peer, end = socket.socketpair()
    with peer, end:
        channel = Channel(end)
        channel.send(Failed("first"))
        channel.send(Sealed({}))
        channel.send_soon(Failed("second"))
        assert peer.recv(65536) == line_of(Failed("first"))


def test_a_peer_that_does_not_read_holds_nobody_up() -> None:
    peer, end = socket.socketpair()
    with peer, end:
        channel = Channel(end)
        end.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                end.sendall(bytes(65536))
        end.setblocking(True)
        channel.send_soon(Beat())
