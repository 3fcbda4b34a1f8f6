"""The functions of `orders.yaml`: plain Python, which tests can call."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypedDict

from remuda import Content


class Order(TypedDict):
    id: int
    at: datetime
    country: str
    amount: str
    currency: str


class Priced(TypedDict):
    id: int
    at: datetime
    country: str
    euros: float


class Minute(TypedDict):
    country: str
    minute: datetime
    euros: float


class Complaint(TypedDict):
    id: int
    reason: str


def price(order: Order, rates: dict[str, float]) -> Priced:
    """Raises ValueError for an amount that is no number, KeyError for a currency without rate."""
    euros = float(order["amount"]) * rates[order["currency"]]
    return {"id": order["id"], "at": order["at"], "country": order["country"], "euros": euros}


def is_over(row: Priced, least: float) -> bool:
    return row["euros"] > least


def is_bad_order(error: Exception) -> bool:
    return isinstance(error, ValueError | KeyError)


def complaint(order: Order, error: Exception) -> Complaint:
    return {"id": order["id"], "reason": f"{type(error).__name__}: {error}"}


def minute_row(window: Content) -> Minute:
    assert window.start is not None
    value: Any = window.value
    return {
        "country": window.group,
        "minute": datetime.fromtimestamp(float(window.start), UTC),
        "euros": value,
    }
