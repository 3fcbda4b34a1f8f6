"""How connections are set up, at both ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

GrpcOptions: TypeAlias = Sequence[tuple[str, int]]

MESSAGE_BYTES_MAX = 64 * 1024 * 1024
BODY_BYTES_MAX = 32 * 1024 * 1024
"""So that a message fits, with all that is around its body."""
BATCH_BYTES = 1024 * 1024
"""What is put together into one message; a single body may be longer."""

_SIZES = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
)


def client_options(ping_ms: int = 45_000) -> GrpcOptions:
    """A stream may be idle for days: pings tell whether the other end is there."""
    return (
        *_SIZES,
        ("grpc.keepalive_time_ms", ping_ms),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
    )


def server_options() -> GrpcOptions:
    """Pings are welcome at any time, whether or not anything else is said."""
    return (
        *_SIZES,
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 1_000),
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.so_reuseport", 0),
    )
