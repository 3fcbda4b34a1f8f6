"""Programs for the scripted machine, as Hypothesis draws them."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.partition.scripted import (
    AnyStep,
    Delete,
    Later,
    Never,
    Put,
    Refuse,
    Send,
    Sweep,
    Tell,
)

KEYS = st.sampled_from([b"a", b"aa", b"ab", b"b", b"b\x00", b"c", b"\xff"])
NAMES = st.sampled_from([b"one", b"two", b"three"])
_SIMPLE: st.SearchStrategy[AnyStep] = st.one_of(
    st.builds(Put, KEYS, st.binary(max_size=3)),
    st.builds(Delete, KEYS),
    st.builds(Sweep, st.booleans(), st.one_of(st.none(), st.integers(0, 3))),
    st.builds(Never, NAMES),
    st.builds(Tell, st.sampled_from(["hear", "see"])),
    st.just(Refuse()),
)
STEPS: st.SearchStrategy[AnyStep] = st.one_of(
    _SIMPLE,
    st.builds(Later, st.integers(0, 100), NAMES, st.lists(_SIMPLE, max_size=2)),
    st.builds(Send, st.integers(0, 2), st.lists(_SIMPLE, max_size=2)),
)
PROGRAMS = st.lists(STEPS, min_size=1, max_size=4)
