"""The worked cases, where they lie beside the checkout; tests that need them skip without."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).resolve().parent.parent
_DIR = Path(os.environ.get("REMUDA_VECTORS", _HERE.parent / "shared" / "vectors"))


def vectors(name: str) -> dict[str, Any]:
    path = _DIR / f"{name}.json"
    if not path.exists():
        pytest.skip(f"no worked cases at {path}", allow_module_level=True)
    return json.loads(path.read_text())
