"""Pages of what was found, and their bookmarks, which mean nothing to anybody else."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from google.protobuf.message import Message

from remuda.api.littlehorse.handlers import RESPONSES, RESULTS, Asked, Desk, Handler
from remuda.workflow.gateway import invalid
from remuda.workflow.keys import place
from remuda.workflow.searches import Hit

PAGE, PAGE_MAX = 100, 1_000


def limit_of(request: Any) -> int:
    if "limit" not in request.DESCRIPTOR.fields_by_name or not request.HasField("limit"):
        return PAGE
    if request.limit < 1:
        raise invalid(f"limit: {request.limit} is below 1")
    return min(request.limit, PAGE_MAX)


def bookmark_of(request: Any, kind: Any) -> Any:
    """Where the last page ended; None at the beginning."""
    if "bookmark" not in request.DESCRIPTOR.fields_by_name or not request.bookmark:
        return None
    try:
        return msgspec.msgpack.decode(request.bookmark, type=kind)
    except msgspec.DecodeError:
        raise invalid("bookmark: this is none that a search has given") from None


def page(asked: Asked, results: list[Any], last: Any) -> Message:
    """`last` is where it goes on; None if this is the end."""
    response: Any = RESPONSES[asked.call](results=results)
    if last is not None and "bookmark" in response.DESCRIPTOR.fields_by_name:
        response.bookmark = msgspec.msgpack.encode(last)
    return response


async def searched(desk: Desk, asked: Asked, request: Message) -> Message:
    """A search over all partitions, in order of creation."""
    limit = limit_of(request)
    start = bookmark_of(request, Hit)
    hits = await desk.gateway.search(asked.tenant, asked.call, request, start, limit + 1)
    kind = RESULTS[asked.call]
    results = [kind.FromString(hit.object_id) for hit in hits[:limit]]
    return page(asked, results, hits[limit - 1] if len(hits) > limit else None)


def parts_of_a_run(
    sort: str,
    shown: Callable[[Any], Any] = lambda part: part,
    more: Callable[[Any], bytes] = lambda request: b"",
) -> Handler:
    """A list of what a run has, in order of creation."""

    async def listed(desk: Desk, asked: Asked, request: Any) -> Message:
        limit = limit_of(request)
        start = bookmark_of(request, tuple[int, bytes])
        home = desk.gateway.home_of_run(asked.tenant, request.wf_run_id)
        at = place(asked.tenant, request.wf_run_id) + more(request)
        parts = await desk.gateway.parts(home, sort, at, start, limit + 1)
        kind = RESULTS[asked.call]
        results = [shown(kind.FromString(data)) for _, _, data in parts[:limit]]
        return page(asked, results, parts[limit - 1][:2] if len(parts) > limit else None)

    return listed


def definitions_by_name(kind: str, made: Callable[[str, int, int], Message]) -> Handler:
    """A search for definitions, in order of names and versions."""

    async def listed(desk: Desk, asked: Asked, request: Any) -> Message:
        limit = limit_of(request)
        start = bookmark_of(request, tuple[str, int, int])
        has_name = "name" in request.DESCRIPTOR.fields_by_name and request.HasField("name")
        prefix = request.name if has_name else request.prefix
        names = await desk.gateway.definitions(asked.tenant, kind, prefix, start, limit + 1)
        if has_name:
            names = [one for one in names if one[0] == request.name]
        results = [made(*one) for one in names[:limit]]
        return page(asked, results, names[limit - 1] if len(names) > limit else None)

    return listed
