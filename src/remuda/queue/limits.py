"""What is not accepted, and how that is said."""

from __future__ import annotations

import re

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.model import GroupDef, NewMessage, QueueSettings, RetryDef, Track

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
PARTS_MAX = 1024
GROUPS_MAX = 64
BATCH_MAX = 10_000
KEY_LENGTH_MAX = 1024
ID_LENGTH_MAX = 256
HEADERS_LENGTH_MAX = 64 * 1024
EMITTED_BYTES_MAX = 2**30
"""Of the body of what a handler makes: the limit of the queue that it goes to is elsewhere."""
ERROR_MAX = 2_000
FAILURES_MAX = 20
OPEN_MAX = 10_000
"""How many messages a group may leave behind that it is not done with."""
TIME_MAX_MS = 100 * 365 * 24 * 3600 * 1000


def invalid(reason: str) -> Rejected:
    return Rejected(reason, Rejection.INVALID)


def wrong_name(what: str, name: str) -> Rejected | None:
    if NAME.fullmatch(name):
        return None
    return invalid(
        f"{name[:120]!r} is no name for a {what}: use up to 100 letters, digits, '.', '_' and '-', "
        "and begin with a letter or digit"
    )


def wrong_number(what: str, value: int, least: int, most: int) -> Rejected | None:
    if least <= value <= most:
        return None
    return invalid(f"{what} is {value}: it must be from {least} to {most}")


def wrong_part(part: int) -> Rejected | None:
    return wrong_number("the partition", part, 0, PARTS_MAX - 1)


def wrong_track(track: Track | None) -> Rejected | None:
    if track is None:
        return None
    return (
        wrong_part(track.part)
        or wrong_number("the tree", track.tree, 0, 2**62)
        or wrong_number("the value", track.value, 0, 2**64 - 1)
    )


def wrong_settings(settings: QueueSettings) -> Rejected | None:
    return (
        wrong_number("body_bytes_max", settings.body_bytes_max, 1, 2**30)
        or wrong_number("keep_count", settings.keep_count, 0, 2**62)
        or wrong_number("keep_ms", settings.keep_ms, 0, TIME_MAX_MS)
        or wrong_number("backlog_max", settings.backlog_max, 0, 2**62)
        or wrong_number("dedup_ms", settings.dedup_ms, 0, TIME_MAX_MS)
        or wrong_number("dedup_count", settings.dedup_count, 0, 10_000_000)
        or wrong_number("ttl_ms", settings.ttl_ms, 0, TIME_MAX_MS)
        or wrong_number("producer_keep_ms", settings.producer_keep_ms, 1, TIME_MAX_MS)
        or wrong_number("tree_replays_max", settings.tree_replays_max, 0, 2**31)
        or wrong_number("tree_keep_ms", settings.tree_keep_ms, 1, TIME_MAX_MS)
        or wrong_retry(settings.retry)
    )


def wrong_retry(retry: RetryDef) -> Rejected | None:
    return (
        wrong_number("max_attempts", retry.max_attempts, 0, 2**31)
        or wrong_number("first_ms", retry.first_ms, 0, TIME_MAX_MS)
        or wrong_number("most_ms", retry.most_ms, 0, TIME_MAX_MS)
        or wrong_number("factor_percent", retry.factor_percent, 100, 10_000)
    )


def wrong_group(name: str, group: GroupDef) -> Rejected | None:
    return wrong_name("group", name) or (wrong_retry(group.retry) if group.retry else None)


def wrong_batch(messages: tuple[NewMessage, ...], body_bytes_max: int) -> Rejected | None:
    if not messages:
        return invalid("a batch has no messages: send at least one")
    if len(messages) > BATCH_MAX:
        return Rejected(
            f"a batch has {len(messages)} messages and may have {BATCH_MAX}: split it",
            Rejection.EXHAUSTED,
        )
    for message in messages:
        wrong = wrong_message(message, body_bytes_max)
        if wrong is not None:
            return wrong
    return None


def wrong_message(message: NewMessage, body_bytes_max: int) -> Rejected | None:
    size = len(message.body)
    if not size:
        return invalid("a message has an empty body: put something in it")
    if size > body_bytes_max:
        return invalid(
            f"a message has a body of {size} bytes, and {body_bytes_max} are allowed: send less, "
            "or raise body_bytes_max"
        )
    if message.headers:
        headers = sum(len(name) + len(value) for name, value in message.headers.items())
        if headers > HEADERS_LENGTH_MAX:
            return invalid(
                f"the headers of a message have {headers} characters, and {HEADERS_LENGTH_MAX} are "
                "allowed: put large things in the body"
            )
    if len(message.key) > KEY_LENGTH_MAX:
        return invalid(f"a key has {len(message.key)} characters, and {KEY_LENGTH_MAX} are allowed")
    if len(message.dedup) > ID_LENGTH_MAX:
        return invalid(
            f"a dedup id has {len(message.dedup)} characters, and {ID_LENGTH_MAX} are allowed"
        )
    if message.delay_ms or message.ttl_ms or message.track_ms:
        return (
            wrong_number("delay_ms", message.delay_ms, 0, TIME_MAX_MS)
            or wrong_number("ttl_ms", message.ttl_ms, 0, TIME_MAX_MS)
            or wrong_number("track_ms", message.track_ms, 0, TIME_MAX_MS)
        )
    return None
