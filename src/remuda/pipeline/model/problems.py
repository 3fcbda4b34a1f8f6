"""A report on a job: every problem at once, each with its entry, its key, and how to mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from msgspec import Struct

from remuda.errors import RemudaError


class Problem(Struct, frozen=True):
    """`where` is the entry, as people would name it: `catalog entry parse`, `workflow edge 3`."""

    where: str
    key: str | None
    what: str

    def __str__(self) -> str:
        place = f"{self.where}, `{self.key}`" if self.key else self.where
        return f"{place}: {self.what}"


class BadJob(RemudaError):
    """A job that cannot be run, with all that is wrong with it."""

    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__("\n  - ".join([f"the job has {count}:", *map(str, problems)]))


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean …?)`, if anything is near."""
    close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f" (did you mean `{close[0]}`?)" if close else ""
