"""What is sent to the Python workers."""

from __future__ import annotations

import sys
from typing import Any, Generic, TypeVar, cast

from pyspark import cloudpickle

Content = TypeVar("Content")


class Shipped(Generic[Content]):
    """Something for the workers. Modules are found there as they are here, before the functions
    that are in it are looked for."""

    def __init__(self, content: Content) -> None:
        self.content = content

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (list(sys.path), cast("Any", cloudpickle).dumps(self.content))


def _unpacked(path: list[str], packed: bytes) -> Shipped[Any]:
    sys.path += [place for place in path if place not in sys.path]
    return Shipped(cast("Any", cloudpickle).loads(packed))
