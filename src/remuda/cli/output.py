"""Human output by default, JSON with `--json`; errors as one line on stderr either way."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """One line an object, flushed: a script may be waiting for it."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def print_error(message: str) -> None:
    errors.print(f"[bold red]error:[/] {plain(message)}", soft_wrap=True)


def clock_time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().strftime("%H:%M:%S.%f")[:-3]


def plain(text: object) -> str:
    """Text that is not ours, names and reasons, to be shown as it is."""
    return escape(str(text))
