# Objects of the JVM are of any shape.
# pyright: basic
"""The few operations on files that output needs, here and in any Hadoop file system.

Local files go through the operating system, which is quick and can be told to keep what it was
given. All other addresses (`hdfs://…`, `s3a://…`) go through the JVM.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from remuda.pipeline.io import jvm

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


class TargetExists(Exception):
    """A rename found something where it was to put something."""


class Storage(Protocol):
    """Paths are text. Directories that are made durable stay so after a loss of power, as far as
    the file system can promise it."""

    def exists(self, path: str) -> bool: ...

    def names(self, path: str) -> list[str]:
        """What is in a directory; nothing if there is none. A file has its own name in it."""
        ...

    def read(self, path: str) -> str | None:
        """A small file's text, or None if there is no such file."""
        ...

    def write(self, path: str, text: str) -> None:
        """A small file, whole or not at all, durable."""
        ...

    def make(self, path: str) -> None: ...

    def move(self, source: str, to: str) -> None:
        """Renames a directory, at once and durably. Raises TargetExists unless there is nothing, or
        an empty directory; FileNotFoundError if there is nothing to rename."""
        ...

    def remove(self, path: str) -> None:
        """With all that is in it; nothing happens if it is not there."""
        ...

    def make_durable(self, path: str) -> None:
        """All that is below a directory."""
        ...


def storage_of(path: str) -> tuple[Storage, str]:
    """Where a path is, and the path as that place knows it."""
    address = urlsplit(path)
    if address.scheme == "file":
        return LocalStorage(), unquote(address.path)
    if not _ADDRESS.match(path):
        return LocalStorage(), os.path.abspath(path)  # noqa: PTH100 - may not exist yet
    return HadoopStorage(path), path.rstrip("/")


def address(path: str) -> str:
    """A path as Spark is to be told it: one without a scheme is here, whatever its default is."""
    storage, known_as = storage_of(path)
    return f"file://{known_as}" if isinstance(storage, LocalStorage) else path


def shown(address: str) -> str:
    """A path as people write it."""
    return address.removeprefix("file://")


def parent(path: str) -> str:
    return path.rstrip("/").rpartition("/")[0] or "/"


def name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


# ── here ─────────────────────────────────────────────────────────────────────────────────────


class LocalStorage:
    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def names(self, path: str) -> list[str]:
        try:
            return sorted(entry.name for entry in Path(path).iterdir())
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            return [name(path)]

    def read(self, path: str) -> str | None:
        try:
            return Path(path).read_text()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, text: str) -> None:
        scratch = Path(path).with_name(f".{Path(path).name}.{os.getpid()}")
        with scratch.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
        _sync(Path(path).parent)

    def make(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def move(self, source: str, to: str) -> None:
        try:
            Path(source).rename(to)
        except (FileExistsError, NotADirectoryError):
            raise TargetExists(to) from None
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                raise TargetExists(to) from None
            raise
        _sync(Path(to).parent)
        if Path(source).parent != Path(to).parent:
            _sync(Path(source).parent)

    def remove(self, path: str) -> None:
        # Another driver may be removing the same.
        with suppress(FileNotFoundError):
            if Path(path).is_dir():
                shutil.rmtree(path)
            else:
                Path(path).unlink()

    def device(self, path: str) -> int:
        """Which file system a path is in: renames do not leave it."""
        return Path(path).stat().st_dev

    def make_durable(self, path: str) -> None:
        for folder, _, files in os.walk(path):
            for file in files:
                _sync(Path(folder) / file)
            _sync(Path(folder))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# ── any Hadoop file system ───────────────────────────────────────────────────────────────────


class HadoopStorage:
    """A file is as durable as its file system makes it when it is closed. Renaming is at once where
    the file system has that: HDFS does, an object store does not."""

    def __init__(self, path: str) -> None:
        spark = jvm.active()
        self._java = jvm.of(spark)
        configuration = jvm.hadoop_configuration(spark)
        self._files = self._path(path).getFileSystem(configuration)
        self._context = self._java.org.apache.hadoop.fs.FileContext.getFileContext(
            self._files.getUri(), configuration
        )

    def exists(self, path: str) -> bool:
        return self._files.exists(self._path(path))

    def names(self, path: str) -> list[str]:
        if not self.exists(path):
            return []
        return sorted(
            status.getPath().getName() for status in self._files.listStatus(self._path(path))
        )

    def read(self, path: str) -> str | None:
        if not self.exists(path):
            return None
        stream = self._files.open(self._path(path))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        scratch = self._path(f"{parent(path)}/.{name(path)}.{os.getpid()}")
        stream = self._files.create(scratch, True)
        try:
            stream.write(text.encode())
            stream.hsync()
        finally:
            stream.close()
        overwrite = self._java.org.apache.hadoop.fs.Options.Rename.OVERWRITE
        self._rename(scratch, self._path(path), overwrite)

    def make(self, path: str) -> None:
        self._files.mkdirs(self._path(path))

    def move(self, source: str, to: str) -> None:
        if not self.exists(source):
            raise FileNotFoundError(source)
        if self.exists(to):
            if self.names(to):
                raise TargetExists(to)
            self._files.delete(self._path(to), False)
        never = self._java.org.apache.hadoop.fs.Options.Rename.NONE
        try:
            self._rename(self._path(source), self._path(to), never)
        except Exception:
            if self.exists(to):
                raise TargetExists(to) from None
            raise

    def remove(self, path: str) -> None:
        self._files.delete(self._path(path), True)

    def make_durable(self, path: str) -> None:
        """Files were closed by whoever wrote them: nothing is left to be done."""

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _path(self, path: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(path)

    def _rename(self, source: Any, to: Any, how: Any) -> None:
        kind = self._java.org.apache.hadoop.fs.Options.Rename
        self._context.rename(source, to, jvm.array(jvm.active(), kind, how))
