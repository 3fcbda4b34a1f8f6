from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.replica.state import Replica
from tests.api.littlehorse.stable import Stable
from tests.api.nodes import addresses


@pytest.fixture(scope="module")
def stable(replica: Replica) -> Iterator[Stable]:
    """The client at one of two nodes: half of what it asks for is on the other one."""
    stable = Stable(addresses(replica)[0])
    yield stable
    stable.close()
