"""A running cluster, shown as it changes: a screen in a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Generator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from remuda.cli.output import clock_time, print_json
from remuda.cli.view import peers_table, summary
from remuda.clock import SystemClock
from remuda.replica.state import Replica


class Lines:
    """What happens, a line each; for a script, each a JSON object."""

    def __init__(self, console: Console, *, json: bool = False) -> None:
        self._console = console
        self._json = json

    @contextlib.contextmanager
    def shown(self) -> Generator[None]:
        yield

    def tell(self, text: str, **details: Any) -> None:
        now_ms = SystemClock().wall_ms()
        if self._json:
            print_json({"at_ms": now_ms, "text": text, **details})
        else:
            self._console.print(f"[dim]{clock_time(now_ms)}[/] {text}", soft_wrap=True)

    def show(self, replica: Replica) -> None:
        """Lines tell what changed; they have no place for what is."""


class Screen(Lines):
    """The ring as it stands, and the last few things that happened."""

    def __init__(self, console: Console, title: str, recent: int = 10) -> None:
        super().__init__(console)
        self._title = title
        self._replica = Replica()
        self._recent: deque[str] = deque(maxlen=recent)
        self._live = Live(console=console, auto_refresh=False)

    @contextlib.contextmanager
    def shown(self) -> Generator[None]:
        with self._live:
            yield

    def tell(self, text: str, **details: Any) -> None:
        self._recent.append(f"[dim]{clock_time(SystemClock().wall_ms())}[/] {text}")
        self._draw()

    def show(self, replica: Replica) -> None:
        self._replica = replica
        self._draw()

    def _draw(self) -> None:
        parts: list[RenderableType] = [
            Text(self._title, style="dim"),
            f"[bold]{summary(self._replica)}[/]",
            peers_table(self._replica),
            "",
            *self._recent,
        ]
        self._live.update(Group(*parts), refresh=True)
