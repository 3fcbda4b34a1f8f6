"""A partition's store in RocksDB: one directory, one atomic synced batch a round.

The state and the head are in the default column family, the commands in one of their own, so
that forgetting old commands (one range deletion now and then) costs reads of the state nothing.

RocksDB locks the directory for as long as it is open, and it stays open until the last iterator
of it is gone: close it, and keep no scan.
"""

# rocksdict's types say little of bytes.
# pyright: basic
from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from struct import Struct as Layout
from typing import Any

from msgspec.structs import replace
from rocksdict import (
    BlockBasedOptions,
    Cache,
    Checkpoint,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteBufferManager,
    WriteOptions,
)

from remuda.errors import (
    DataDirUnusable,
    DiskFull,
    RemudaError,
    StoreCorrupt,
    StoreFailed,
    StoreLocked,
)
from remuda.partition.keys import number, u64
from remuda.partition.store import Batch, Head, refuse_stale

_COMMANDS = "commands"
_HEAD = b"\x00head"
_HEAD_LAYOUT = Layout(">QQQQ")
_MIB = 1 << 20

# Sixteen partitions may be open in one process, each with two memtables of each family: what
# they take together is bounded, too.
_MEMTABLE_BYTES = 8 * _MIB
_MEMTABLES = 2
_ALL_MEMTABLES = WriteBufferManager(128 * _MIB, False)
# A family that is written rarely must not keep the others' logs from being deleted.
_WAL_BYTES = 64 * _MIB
_CACHE = Cache(64 * _MIB)
_OPEN_FILES = 256
# So many deletions among so many keys of a file, and it is rewritten without them.
_DELETIONS_MANY, _DELETIONS_WINDOW = 2_000, 4_000
_KEPT_INFO_LOGS = 2


class RocksStore:
    """Open one with `RocksStore.open`; it is closed when there is nothing more to do with it."""

    def __init__(self, path: Path, db: Rdict, head: Head) -> None:
        self._path = path
        self._db = db
        self._commands = db.get_column_family(_COMMANDS)
        self._family = db.get_column_family_handle(_COMMANDS)
        self._head = head
        self._synced = WriteOptions()
        self._synced.sync = True

    @staticmethod
    def open(path: Path, epoch: int | None = None) -> RocksStore:
        """For an owner with its epoch, or a copy that nobody owns without one.

        Raises `StoreLocked`, `StaleEpoch`, `StoreCorrupt`, `DiskFull`, `DataDirUnusable` or
        `StoreFailed`.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            db = Rdict(str(path), _options(), {_COMMANDS: _options()})
        except Exception as error:
            raise named(path, error) from error
        try:
            head = _decode_head(path, db.get(_HEAD))
            refuse_stale(f"the store {path}", head.epoch, head.epoch if epoch is None else epoch)
            store = RocksStore(path, db, head)
            if epoch is not None:
                store.commit(Batch(replace(head, epoch=epoch)))
        except Exception as error:
            db.close()
            raise named(path, error) from error
        return store

    @property
    def head(self) -> Head:
        return self._head

    def get(self, key: bytes) -> bytes | None:
        try:
            return self._db.get(key)
        except Exception as error:
            raise named(self._path, error) from error

    def scan(
        self, start: bytes, end: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        if start >= end:
            return
        bounds = ReadOptions()
        bounds.set_iterate_upper_bound(end)
        first = end if reverse else start
        try:
            items: Any = self._db.items(backwards=reverse, from_key=first, read_opt=bounds)
            for item in items:
                # rocksdict 0.3.29 takes a lower bound for an upper one.
                if item[0] < start:
                    return
                yield item
        except Exception as error:
            raise named(self._path, error) from error

    def commands(self, first: int, last: int) -> Iterator[tuple[int, bytes]]:
        bounds = ReadOptions()
        bounds.set_iterate_upper_bound(u64(last + 1))
        try:
            items: Any = self._commands.items(from_key=u64(first), read_opt=bounds)
            for key, value in items:
                yield number(key), value
        except Exception as error:
            raise named(self._path, error) from error

    def commit(self, batch: Batch) -> None:
        refuse_stale(f"the store {self._path}", self._head.epoch, batch.head.epoch)
        try:
            self._db.write(self._prepared(batch), self._synced)
        except Exception as error:
            raise named(self._path, error) from error
        self._head = batch.head

    def checkpoint(self, to: Path) -> Head:
        """Files are linked, so it takes little room until the store moves on; appears whole.

        Nothing may be committed meanwhile.
        """
        half = to.with_name(f"{to.name}.half")
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(half, ignore_errors=True)
            Checkpoint(self._db).create_checkpoint(str(half))
            half.rename(to)
            _sync_directory(to.parent)
        except Exception as error:
            raise named(to, error) from error
        return self._head

    def close(self) -> None:
        """Gives the lock up. What is committed is on disk already, so nothing can be lost here."""
        self._family = None
        for family in (self._commands, self._db):
            with contextlib.suppress(Exception):
                family.close()

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _prepared(self, batch: Batch) -> WriteBatch:
        written = WriteBatch(raw_mode=True)
        for key, value in batch.changes.items():
            if value is None:
                written.delete(key)
            else:
                written.put(key, value)
        family = self._family
        for at, command in enumerate(batch.commands, batch.head.position - len(batch.commands) + 1):
            written.put(u64(at), command, family)
        if batch.head.kept_from > self._head.kept_from:
            written.delete_range(u64(self._head.kept_from), u64(batch.head.kept_from), family)
        head = batch.head
        written.put(_HEAD, _HEAD_LAYOUT.pack(head.epoch, head.position, head.at_ms, head.kept_from))
        return written


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_write_buffer_size(_MEMTABLE_BYTES)
    options.set_max_write_buffer_number(_MEMTABLES)
    options.set_write_buffer_manager(_ALL_MEMTABLES)
    options.set_max_total_wal_size(_WAL_BYTES)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_max_open_files(_OPEN_FILES)
    # Queues and timers delete at the front of a range what they have put at its end.
    options.add_compact_on_deletion_collector_factory(
        _DELETIONS_WINDOW, _DELETIONS_MANY, _DELETIONS_MANY / _DELETIONS_WINDOW
    )
    options.set_keep_log_file_num(_KEPT_INFO_LOGS)
    options.set_stats_dump_period_sec(0)
    # A record that was cut off was never acknowledged; one that is whole and wrong is damage,
    # and what comes after it must not be dropped in silence.
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    tables = BlockBasedOptions()
    tables.set_block_cache(_CACHE)
    tables.set_bloom_filter(10, False)
    options.set_block_based_table_factory(tables)
    return options


def _decode_head(path: Path, data: bytes | None) -> Head:
    if data is None:
        return Head()
    if len(data) != _HEAD_LAYOUT.size:
        raise _corrupt(path, f"its head has {len(data)} bytes")
    return Head(*_HEAD_LAYOUT.unpack(data))


def named(path: Path, error: Exception) -> RemudaError:
    """What is wrong with a store. RocksDB tells it in the text of the error only."""
    text = str(error)
    if isinstance(error, RemudaError):
        return error
    if getattr(error, "errno", None) == errno.ENOSPC or "No space left" in text:
        return DiskFull(f"no room is left for the store {path}; make room, and it goes on")
    if "LOCK:" in text:
        return StoreLocked(
            f"the store {path} is open in another process; it is tried again until that ends"
        )
    if text.startswith("Corruption"):
        return _corrupt(path, text)
    if isinstance(error, OSError):
        return DataDirUnusable(
            f"the store {path} cannot be made: {error.strerror}; "
            "put it right, or choose another data directory"
        )
    return StoreFailed(f"the store {path} failed: {text}; see to the disk, and open it again")


def _corrupt(path: Path, what: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"the store {path} is damaged ({what}); put a snapshot of the partition in its place"
    )


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
