# pyright: basic
"""Groups that Python finds equal have equal keys, and no others."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.pipeline.windowing.grouping import BadGroup, key_of

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, float("inf"), Decimal("0.5"), Decimal(2)]),
    st.sampled_from(["", "1", "None", "a", b"a", b""]),
    st.sampled_from([date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)]),
)
GROUPS = st.one_of(SCALARS, st.lists(SCALARS, max_size=2).map(tuple))


@given(GROUPS, GROUPS)
def test_keys_are_equal_where_groups_are(one: Any, other: Any) -> None:
    assert (key_of(one) == key_of(other)) == (one == other)


def test_what_rows_cannot_be_grouped_by_is_refused() -> None:
    with pytest.raises(BadGroup, match="this is a set"):
        key_of({1})
