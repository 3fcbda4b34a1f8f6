"""The command line, run as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def remuda(
    *words: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "remuda.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "COLUMNS": "80", **(environment or {})},
        check=False,
    )


def asked(*words: str) -> Any:
    answer = remuda(*words, "--json")
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def asked_lines(*words: str) -> list[Any]:
    answer = remuda(*words, "--json")
    assert answer.returncode == 0, answer.stderr
    return [json.loads(line) for line in answer.stdout.splitlines()]


def complaint(*words: str, environment: dict[str, str] | None = None, lines: int = 1) -> str:
    """The one line that a failing command prints, and nothing else; or a report of several."""
    answer = remuda(*words, environment=environment)
    assert answer.returncode in (1, 2)
    assert answer.stdout == ""
    assert len(answer.stderr.splitlines()) == lines, answer.stderr
    assert answer.stderr.startswith("error: ")
    return answer.stderr.rstrip("\n")
