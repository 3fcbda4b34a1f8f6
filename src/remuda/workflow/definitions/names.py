"""The rule for names and ids that clients choose."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?")

LENGTH_MAX = 255


def name_problem(name: str) -> str | None:
    """What is wrong with a name; None if nothing is."""
    if not name:
        return "a name is missing"
    if len(name) > LENGTH_MAX:
        return f"{name[:20]}… is longer than {LENGTH_MAX} characters"
    if _NAME.fullmatch(name) is None:
        return f"{name!r} has other characters than letters, digits and inner hyphens"
    return None
