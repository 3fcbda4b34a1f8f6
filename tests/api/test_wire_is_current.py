"""The generated modules are those of the .proto files."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_generated_modules_are_current(tmp_path: Path) -> None:
    subprocess.run([ROOT / "scripts" / "generate_wire", tmp_path], check=True, timeout=120)
    made = {path.name: path.read_text() for path in (tmp_path / "remuda" / "v1").iterdir()}
    kept = {path.name: path.read_text() for path in (ROOT / "src/remuda/v1").glob("*_pb2*")}
    assert kept == made, "run `make wire`"
