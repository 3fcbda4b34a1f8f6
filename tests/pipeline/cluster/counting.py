"""The functions of the jobs that the cluster's tests submit."""

from __future__ import annotations

import time
from typing import TypedDict


class Number(TypedDict):
    n: int


class Doubled(TypedDict):
    n: int
    twice: int


def double(row: Number, pause_s: float = 0.0) -> Doubled:
    if pause_s:
        time.sleep(pause_s)
    return {"n": row["n"], "twice": 2 * row["n"]}


def refuse_large(row: Number) -> Doubled:
    if row["n"] > 700:
        raise ValueError(f"{row['n']} is too large")
    return {"n": row["n"], "twice": 2 * row["n"]}
