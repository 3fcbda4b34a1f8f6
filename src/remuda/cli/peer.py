"""`remuda peer`: one peer, in this process."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Annotated, Any

import typer

from remuda.cli.options import NODE, PEER, SLOTS, AsJson, configured
from remuda.cli.output import clock_time, console, print_json
from remuda.clock import SystemClock
from remuda.config import Config
from remuda.peer.effects import Ending
from remuda.peer.hooks import Hooks
from remuda.replica.state import PeerId
from remuda.zookeeper.connection import Link

_CLOCK = SystemClock()


@configured(*PEER, *SLOTS, *NODE)
def peer(
    config: Config,
    *,
    json: AsJson = False,
    create: Annotated[
        bool, typer.Option("--create", help="Create the chroot if it does not exist.")
    ] = False,
) -> None:
    """Run one peer against any ensemble, until SIGTERM or Ctrl-C."""
    asyncio.run(_run(config, json=json, create=create))


async def _run(config: Config, *, json: bool, create: bool) -> None:
    # All that a node is made of takes a while to load, and no other verb needs it.
    from remuda.api.node import Node

    running = Node(config, _Teller(json), create_chroot=create)
    loop = asyncio.get_running_loop()
    asked: list[signal.Signals] = []

    def stop(asked_by: signal.Signals) -> None:
        if asked:
            # Asked twice: somebody is in a hurry. The session's end will tell the others.
            os._exit(128 + asked_by)
        asked.append(asked_by)
        running.leave()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    await running.run()


class _Teller(Hooks):
    """Says what happens to this peer, a line each."""

    def __init__(self, json: bool) -> None:
        self._json = json

    def life_began(self, me: PeerId) -> None:
        self._tell("joining", f"{me} asks to join", peer=me)

    def link_changed(self, link: Link) -> None:
        self._tell(link.value, f"ZooKeeper: {link.value}")

    def work_may_start(self) -> None:
        self._tell("working", "a member with a live session: work may start")

    def work_must_stop(self, reason: str) -> None:
        self._tell("stopped", f"work stops: {reason}", reason=reason)

    def life_ended(self, me: PeerId, ending: Ending) -> None:
        self._tell(ending.value, f"{me} has {ending.value}", peer=me)

    def _tell(self, event: str, text: str, **details: Any) -> None:
        now_ms = _CLOCK.wall_ms()
        if self._json:
            print_json({"event": event, "at_ms": now_ms, "pid": os.getpid(), **details})
        else:
            console.print(f"[dim]{clock_time(now_ms)}[/] {text}", soft_wrap=True)
