"""Queues drawn for people, and described for scripts."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
from msgspec.structs import asdict
from rich.table import Table

from remuda.cli.output import plain
from remuda.queue.group import pool_of, unit_of_part
from remuda.queue.model import DeadLetter, Message, QueueDef
from remuda.queue.reading import PartStats
from remuda.replica.pool import Pool
from remuda.replica.state import Replica

_BODY_SHOWN = 60


def table_of(*columns: str, numbers: tuple[str, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left")
    return table


def described_queue(queue: QueueDef, stats: Mapping[int, PartStats]) -> dict[str, Any]:
    """What `queue list --json` prints for each."""
    return {
        "name": queue.name,
        "parts": queue.parts,
        "sealed": queue.sealed,
        "version": queue.version,
        "depth": sum(part.depth for part in stats.values()),
        "delayed": sum(part.delayed for part in stats.values()),
        "sent": sum(part.sent for part in stats.values()),
        "groups": {name: described_group(queue, name, stats) for name in sorted(queue.groups)},
    }


def described_settings(queue: QueueDef) -> dict[str, Any]:
    return {**asdict(queue.settings), "retry": asdict(queue.settings.retry)}


def described_group(queue: QueueDef, group: str, stats: Mapping[int, PartStats]) -> dict[str, Any]:
    found = [part.groups[group] for part in stats.values() if group in part.groups]
    return {
        "lag": sum(one.lag for one in found),
        "retrying": sum(one.retrying for one in found),
        "dead": sum(one.dead for one in found),
        "done": sum(one.done for one in found),
        "failed": sum(one.failed for one in found),
        "oldest_ms": max((one.oldest_ms for one in found), default=0),
        "ended": len(found) == queue.parts and all(one.ended for one in found),
        "retry": asdict(queue.retry_of(group)),
    }


def described_parts(
    replica: Replica, queue: QueueDef, stats: Mapping[int, PartStats]
) -> list[dict[str, Any]]:
    return [
        {
            "part": part,
            **msgspec.to_builtins(found),
            "owners": {group: owner_of(replica, queue.name, group, part) for group in found.groups},
        }
        for part, found in sorted(stats.items())
    ]


def owner_of(replica: Replica, queue: str, group: str, part: int) -> str | None:
    unit = replica.pools.get(pool_of(queue, group), Pool()).units.get(unit_of_part(part))
    return None if unit is None else unit.owner


def described_message(position: int, message: Message) -> dict[str, Any]:
    return {
        "position": position,
        "key": message.key,
        "headers": dict(message.headers),
        "sent_ms": message.sent_ms,
        "expires_ms": message.expires_ms,
        "tracked": message.track is not None,
        "failures": [asdict(failure) for failure in message.failures],
        **described_body(message.body),
    }


def described_letter(part: int, number: int, letter: DeadLetter) -> dict[str, Any]:
    return {
        "part": part,
        "number": number,
        "died_ms": letter.died_ms,
        **described_message(letter.position, letter.message),
    }


def described_body(body: bytes) -> dict[str, str]:
    """As text, or what is no text as base64 under another name."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def shown_body(body: bytes) -> str:
    """In one line, shortened."""
    text = body.decode(errors="replace")
    line = "".join(letter if letter.isprintable() else "·" for letter in text[: _BODY_SHOWN + 1])
    return plain(line if len(line) <= _BODY_SHOWN else line[:_BODY_SHOWN] + "…")


def shown_age(age_ms: int) -> str:
    return str(timedelta(seconds=age_ms // 1000)) if age_ms else ""
