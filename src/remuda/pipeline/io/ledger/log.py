"""An append-only log on disk, in partitions, whose rows are numbered.

    <path>/ledger.json                    how many partitions it has
    <path>/segments/<attempt>/*.jsonl     rows of one partition, a line each; nothing by itself
    <path>/commits/<number>.json          one commit: its key, and its segments
    <path>/held/<attempt>.json            segments that are written whole, and wait for a commit

A row is there when a commit names its segment. Commits are numbered without gaps, and a number can
be taken only once: its file is made by a link, which fails if it is there. What a commit adds to a
partition is numbered on from where the commit before it ended, so that any reader finds the same
rows under the same numbers, for ever.

A key is committed once. Whoever commits it again changes nothing. Each attempt to write for a key
has a directory of its own, so that no attempt touches another's.

Whoever opens a ledger reads all its commits: it is made for thousands of them, not for millions.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TextIO

import msgspec
from msgspec import Struct

from remuda.errors import RemudaError

PARTITIONS = 4


class BadLedger(RemudaError):
    """A directory is no ledger, or not one of this kind."""

    exit_code = 2


class Segment(Struct, frozen=True):
    """Lines of one partition; `first` is the number of the first of them, once it is committed."""

    partition: int
    file: str
    rows: int
    first: int = -1


class Commit(Struct, frozen=True):
    key: str
    segments: list[Segment]


class Slice(Struct, frozen=True):
    """Rows of one partition, from one number up to, and without, another."""

    partition: int
    start: int
    end: int


class _Shape(Struct, frozen=True):
    partitions: int


class Ledger:
    """One reader's, or writer's, view: what was committed when it last looked."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            shape = msgspec.json.decode((self.path / "ledger.json").read_bytes(), type=_Shape)
        except FileNotFoundError:
            raise BadLedger(f"there is no ledger at {path}: name the directory of one") from None
        except msgspec.DecodeError as error:
            raise BadLedger(f"{path}/ledger.json is none of ours: {error}") from None
        self.partitions = shape.partitions
        self._keys: dict[str, int] = {}
        self._segments: list[list[Segment]] = [[] for _ in range(self.partitions)]
        self._files: set[str] = set()
        self._commits = 0

    @classmethod
    def open(cls, path: str | Path, partitions: int = PARTITIONS) -> Ledger:
        """The ledger that is there, or a new one with so many partitions."""
        folder = Path(path)
        for name in ("segments", "commits", "held"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        if not (folder / "ledger.json").exists():
            _write_new(folder / "ledger.json", msgspec.json.encode(_Shape(partitions)))
        return cls(folder)

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def refresh(self) -> None:
        """Looks at the commits that came since it last looked."""
        while True:
            try:
                text = self._commit_file(self._commits).read_bytes()
            except FileNotFoundError:
                return
            commit = msgspec.json.decode(text, type=Commit)
            for segment in commit.segments:
                self._segments[segment.partition].append(segment)
                self._files.add(segment.file)
            self._keys[commit.key] = sum(segment.rows for segment in commit.segments)
            self._commits += 1

    def ends(self) -> list[int]:
        """For each partition, the number that its next row will have."""
        return [_end(segments) for segments in self._segments]

    def rows_of(self, key: str) -> int | None:
        """How many rows a commit has, or None if there is no such commit."""
        return self._keys.get(key)

    def read(self, wanted: Slice) -> Iterator[tuple[int, str]]:
        """The rows of a slice, with their numbers."""
        for segment in self._segments[wanted.partition]:
            if segment.first >= wanted.end:
                return
            if segment.first + segment.rows <= wanted.start:
                continue
            with (self.path / "segments" / segment.file).open(
                encoding="utf-8", newline="\n"
            ) as lines:
                for number, line in enumerate(lines, segment.first):
                    if wanted.start <= number < wanted.end:
                        yield number, line.rstrip("\n")

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def write(self, attempt: str, rows: Iterable[tuple[int, str]]) -> list[Segment]:
        """Segments of rows, each with its partition: durable, and not there yet for readers."""
        folder = self.path / "segments" / attempt
        folder.mkdir(parents=True, exist_ok=True)
        files: dict[int, TextIO] = {}
        counts: Counter[int] = Counter()
        name = uuid.uuid4().hex
        with ExitStack() as opened:
            for partition, row in rows:
                if "\n" in row:
                    raise BadLedger(f"a row is one line, and this one has several: {row[:80]!r}")
                if partition not in files:
                    path = folder / f"{name}-{partition}.jsonl"
                    files[partition] = opened.enter_context(path.open("w", encoding="utf-8"))
                files[partition].write(row + "\n")
                counts[partition] += 1
            for file in files.values():
                file.flush()
                os.fsync(file.fileno())
        _sync(folder)
        _sync(folder.parent)
        return [
            Segment(partition, f"{attempt}/{name}-{partition}.jsonl", counts[partition])
            for partition in sorted(files)
        ]

    def commit(self, key: str, segments: list[Segment]) -> None:
        """The segments are there, all at once; unless the key has been committed before. Others may
        commit at the same time: whoever finds its number taken looks again, and takes the next."""
        self.refresh()
        while key not in self._keys:
            commit = Commit(key, list(self._numbered(segments)))
            if _write_new(self._commit_file(self._commits), msgspec.json.encode(commit)):
                _sync(self.path / "commits")
            self.refresh()
        self.drop(segments)

    def append(self, rows: Iterable[tuple[int, str]], key: str | None = None) -> None:
        """Writes and commits rows, each with its partition, at once."""
        attempt = uuid.uuid4().hex
        self.commit(attempt if key is None else key, self.write(attempt, rows))

    def hold(self, attempt: str, segments: list[Segment]) -> None:
        """Remembers that an attempt has written everything."""
        scratch = self.path / "held" / f".{uuid.uuid4().hex}"
        _write(scratch, msgspec.json.encode(segments))
        scratch.replace(self._held_file(attempt))
        _sync(scratch.parent)

    def held(self, attempt: str) -> list[Segment] | None:
        try:
            return msgspec.json.decode(self._held_file(attempt).read_bytes(), type=list[Segment])
        except FileNotFoundError:
            return None

    def attempts(self) -> list[str]:
        """Those of which anything is left."""
        held = {file.stem for file in (self.path / "held").glob("[!.]*.json")}
        return sorted(held | {folder.name for folder in (self.path / "segments").iterdir()})

    def discard(self, attempt: str) -> None:
        """Removes what an attempt has written, if it is not committed."""
        self.refresh()
        self._held_file(attempt).unlink(missing_ok=True)
        folder = self.path / "segments" / attempt
        self._remove(f"{attempt}/{file.name}" for file in sorted(folder.glob("*.jsonl")))
        _remove_empty(folder)

    def drop(self, segments: list[Segment]) -> None:
        """Removes segments, unless they are committed."""
        self.refresh()
        self._remove(segment.file for segment in segments)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _numbered(self, segments: list[Segment]) -> Iterator[Segment]:
        ends = self.ends()
        for segment in segments:
            if segment.rows:
                yield msgspec.structs.replace(segment, first=ends[segment.partition])
                ends[segment.partition] += segment.rows

    def _remove(self, files: Iterable[str]) -> None:
        for name in files:
            if name not in self._files:
                path = self.path / "segments" / name
                path.unlink(missing_ok=True)
                _remove_empty(path.parent)

    def _commit_file(self, number: int) -> Path:
        return self.path / "commits" / f"{number:020}.json"

    def _held_file(self, attempt: str) -> Path:
        return self.path / "held" / f"{attempt}.json"


def partition_of(key: str, partitions: int) -> int:
    """The partition of a key: the same everywhere, and in every year."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) % partitions


def spread(rows: Iterable[tuple[str | None, str]], partitions: int) -> Iterator[tuple[int, str]]:
    """Rows with their keys to rows with their partitions; those without a key go round."""
    for number, (key, row) in enumerate(rows):
        yield (number % partitions if key is None else partition_of(key, partitions)), row


def _end(segments: list[Segment]) -> int:
    return segments[-1].first + segments[-1].rows if segments else 0


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _write_new(path: Path, data: bytes) -> bool:
    """Whole or not at all; False if there is such a file already."""
    scratch = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    _write(scratch, data)
    try:
        os.link(scratch, path)
    except FileExistsError:
        return False
    finally:
        scratch.unlink()
    return True


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
