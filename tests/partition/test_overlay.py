"""An overlay over a store is one map, whatever is in which: held against a plain dict."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remuda.partition.memory import Disk, MemoryStore
from remuda.partition.overlay import Overlay
from remuda.partition.rocks import RocksStore
from remuda.partition.store import Batch, Store

KEYS = st.binary(max_size=2) | st.sampled_from([b"a", b"b", b"ab", b"b\x00", b"\xfe"])
OPERATIONS = st.one_of(
    st.tuples(st.just("put"), KEYS, st.binary(max_size=2)),
    st.tuples(st.just("delete"), KEYS),
    st.tuples(st.just("scan"), KEYS, KEYS, st.booleans(), st.none() | st.integers(0, 4)),
    st.tuples(st.just("get"), KEYS),
    st.tuples(st.sampled_from(["mark", "rollback", "seal", "write"])),
)
HISTORIES = st.lists(OPERATIONS, max_size=60)

_examples = count()


class Model:
    """The overlay and the dict that it should be like, under a corner of the keys."""

    def __init__(self, store: Store, corner: bytes) -> None:
        self.store = store
        self.corner = corner
        self.overlay = Overlay(store)
        self.like: dict[bytes, bytes] = {}
        self.sealed: dict[bytes, bytes | None] | None = None
        self.marked = (0, dict(self.like))

    def do(self, operation: tuple[object, ...]) -> None:
        match operation:
            case ("put", bytes(key), bytes(value)):
                self.overlay.put(self.corner + key, value)
                self.like[key] = value
            case ("delete", bytes(key)):
                self.overlay.delete(self.corner + key)
                self.like.pop(key, None)
            case ("get", bytes(key)):
                assert self.overlay.get(self.corner + key) == self.like.get(key)
            case ("scan", bytes(start), bytes(end), bool(reverse), limit):
                assert limit is None or isinstance(limit, int)
                self.compare(start, end, reverse, limit)
            case ("mark",):
                self.marked = (self.overlay.mark(), dict(self.like))
            case ("rollback",):
                self.overlay.rollback(self.marked[0])
                self.like = dict(self.marked[1])
            case ("seal",) if self.sealed is None:
                self.sealed = self.overlay.seal()
                self.marked = (self.overlay.mark(), dict(self.like))
            case ("write",) if self.sealed is not None:
                self.store.commit(Batch(self.store.head, (), self.sealed))
                self.overlay.written()
                self.sealed = None
            case _:
                pass

    def compare(self, start: bytes, end: bytes, reverse: bool, limit: int | None) -> None:
        found = self.overlay.scan(
            self.corner + start, self.corner + end, reverse=reverse, limit=limit
        )
        like = sorted(item for item in self.like.items() if start <= item[0] < end)
        expected = (like[::-1] if reverse else like)[:limit]
        assert [(key[len(self.corner) :], value) for key, value in found] == expected


@pytest.fixture(scope="module", params=["memory", "rocks"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    opened: Store = (
        MemoryStore(Disk(), 1)
        if request.param == "memory"
        else RocksStore.open(Path(tmp_path_factory.mktemp("overlay")) / "store", 1)
    )
    yield opened
    opened.close()


@given(history=HISTORIES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_overlay_over_a_store_is_one_map(
    store: Store, history: list[tuple[object, ...]]
) -> None:
    model = Model(store, b"m%06d" % next(_examples))
    for operation in history:
        model.do(operation)
    for reverse in (False, True):
        model.compare(b"", b"\xff\xff\xff", reverse, None)


def test_a_scan_sees_what_is_written_ahead_of_it_and_not_behind() -> None:
    overlay = Overlay(MemoryStore(Disk(), 1))
    for key in (b"b", b"d"):
        overlay.put(key, b"")
    seen: list[bytes] = []
    for key, _ in overlay.scan(b"a", b"z"):
        seen.append(key)
        if key == b"b":
            overlay.put(b"a", b"")
            overlay.put(b"c", b"")
            overlay.delete(b"d")
    assert seen == [b"b", b"c"]


def test_many_new_keys_come_in_order() -> None:
    overlay = Overlay(MemoryStore(Disk(), 1))
    keys = [b"%05d" % (n * 7919 % 1000) for n in range(1000)]
    for key in keys:
        overlay.put(key, b"")
    assert [key for key, _ in overlay.scan(b"0", b"9")] == sorted(keys)


def test_a_round_cannot_be_sealed_before_the_last_is_written() -> None:
    overlay = Overlay(MemoryStore(Disk(), 1))
    overlay.seal()
    with pytest.raises(AssertionError, match="sealed while"):
        overlay.seal()
