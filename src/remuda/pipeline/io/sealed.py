"""A directory that appears whole, once.

A target's rows are written to a directory beside it whose name readers pass over, and become
visible when that is renamed:

    <parent>/.remuda-staged-<job>+<task>[+<epoch>].<fence>    written, not visible
    <parent>/.remuda-replaced-<job>+<task>                    what an overwritten target was before
    <path>/                                                   the target of a batch job
    <path>/epoch=<n>/                                         the target of an epoch of a stream

Each driver stages under its own fencing epoch, so that tasks of a dead driver which still run write
into a directory that nobody will publish. A directory is staged when its marker, `_remuda.json`, is
in it; the marker goes with it, and tells whoever publishes again that it is done.

Where a target is to be overwritten, the old one is moved aside first. A crash then leaves

- the old one, and the new one staged: publishing begins anew;
- no target, the old one aside, the new one staged: publishing moves the new one in, discarding or
  staging anew moves the old one back;
- the new one, and the old one aside: publishing removes that.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import nullcontext, suppress
from urllib.parse import quote

import msgspec
from msgspec import Struct

from remuda.pipeline.io.options import option
from remuda.pipeline.io.port import BadOutput, NothingStaged, Target
from remuda.pipeline.io.storage import Storage, TargetExists, parent, storage_of

MARKER = "_remuda.json"
_STEM_MAX = 160


class Marker(Struct, frozen=True):
    job: str
    task: str
    epoch: int | None = None
    rows: int | None = None


class Place:
    """The directories of one target."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.storage: Storage
        self.storage, self.root = storage_of(str(option(target.task, "path")))
        self.root = self.root.rstrip("/") or "/"
        self.beside = parent(self.root)
        epoch = target.epoch
        self.final = self.root if epoch is None else f"{self.root}/epoch={epoch}"
        stem = _stem(target)
        self._staged = re.compile(re.escape(f".remuda-staged-{stem}.") + r"(\d+)(?:\.many)?")
        self.staged = f"{self.beside}/.remuda-staged-{stem}.{target.run.fence_epoch}"
        self.replaced = f"{self.beside}/.remuda-replaced-{stem}"

    # ── staging ──────────────────────────────────────────────────────────────────────────────

    def begin(self) -> str:
        """Where to write the rows. Raises BadOutput if they could not be published."""
        self._put_back()
        self._expect_room()
        self._remove_staged()
        self.storage.make(self.beside)
        return self.staged

    def finish(self, rows: int) -> None:
        """All rows are written: from now on they can be published."""
        self.storage.make_durable(self.staged)
        mine = Marker(self.target.run.job_id, self.target.task.name, self.target.epoch, rows)
        self.storage.write(f"{self.staged}/{MARKER}", msgspec.json.encode(mine).decode())

    def discard(self) -> None:
        self._put_back()
        self._remove_staged()

    # ── publishing ───────────────────────────────────────────────────────────────────────────

    def published(self) -> Marker | None:
        """The marker of this very target, if it is there."""
        marker = self._marker(self.final)
        return marker if marker is not None and self._is_ours(marker, self.target.epoch) else None

    def publish(self) -> int:
        marker = self.published()
        if marker is None:
            staged = self._newest_staged()
            self._expect_room()
            self.target.run.check_fence()
            self._expose(staged)
            marker = self.published()
            assert marker is not None
        self._remove_staged()
        self.storage.remove(self.replaced)
        return marker.rows or 0

    def _expose(self, staged: str) -> None:
        if self.target.epoch is not None:
            self._own_the_root()
        try:
            self.storage.move(staged, self.final)
        except (TargetExists, FileNotFoundError) as error:
            # Another driver of the same job may have been quicker, and have tidied up.
            if self.published() is not None:
                return
            if isinstance(error, FileNotFoundError):
                raise NothingStaged(f"{self.target}: another driver has removed it") from None
            self._overwrite(staged)

    def _overwrite(self, staged: str) -> None:
        self._expect_room()
        if self.target.epoch is not None:
            raise BadOutput(f"{self.target}: {self.final} is there, and is not of this job")
        self.storage.remove(self.replaced)
        self.storage.move(self.final, self.replaced)
        try:
            self.storage.move(staged, self.final)
        except OSError:
            self._put_back()
            raise

    def _own_the_root(self) -> None:
        """A stream's directory says whose it is before there is anything in it."""
        self.storage.make(self.root)
        if self._marker(self.root) is None:
            mine = Marker(self.target.run.job_id, self.target.task.name)
            self.storage.write(f"{self.root}/{MARKER}", msgspec.json.encode(mine).decode())

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _expect_room(self) -> None:
        """Raises BadOutput where something is that this target may not replace."""
        if not self.storage.names(self.root):
            return
        there = self._marker(self.root)
        overwrites = option(self.target.task, "mode") == "overwrite"
        if self.target.epoch is None:
            if overwrites or (there is not None and self._is_ours(there, None)):
                return
            mend = "name another `path`, or set the option `mode` to `overwrite`"
        else:
            if there is not None and self._is_ours(there, None):
                return
            mend = "name a `path` of its own: a stream adds to what it has written, to nothing else"
        by = f", of job {there.job}" if there is not None else ""
        raise BadOutput(f"{self.target}: {self.root} has content already{by}: {mend}")

    def _is_ours(self, marker: Marker, epoch: int | None) -> bool:
        return (marker.job, marker.task, marker.epoch) == (
            self.target.run.job_id,
            self.target.task.name,
            epoch,
        )

    def _marker(self, folder: str) -> Marker | None:
        text = self.storage.read(f"{folder}/{MARKER}")
        try:
            return None if text is None else msgspec.json.decode(text, type=Marker)
        except msgspec.DecodeError:
            return None

    def _newest_staged(self) -> str:
        """Of what this driver or one before it has staged whole, the latest."""
        whole = [name for name in self._all_staged() if self._marker(f"{self.beside}/{name}")]
        if not whole:
            raise NothingStaged(
                f"{self.target}: nothing of it is staged: run the job again, under the same id"
            )
        return f"{self.beside}/{max(whole, key=self._fence)}"

    def _all_staged(self) -> list[str]:
        """By this driver and those before it; those after it are none of its business."""
        return [
            name
            for name in self.storage.names(self.beside)
            if self._staged.fullmatch(name) and self._fence(name) <= self.target.run.fence_epoch
        ]

    def _fence(self, name: str) -> int:
        match = self._staged.fullmatch(name)
        return int(match[1]) if match else -1

    def _remove_staged(self) -> None:
        for name in self._all_staged():
            # Tasks of a driver that is gone may still be writing: what is left of it now, the next
            # attempt removes.
            earlier = self._fence(name) < self.target.run.fence_epoch
            with suppress(OSError) if earlier else nullcontext():
                self.storage.remove(f"{self.beside}/{name}")

    def _put_back(self) -> None:
        """What was moved aside, if nothing has taken its place."""
        if self.storage.exists(self.replaced) and not self.storage.exists(self.final):
            self.storage.move(self.replaced, self.final)


def _stem(target: Target) -> str:
    parts = [target.run.job_id, target.task.name]
    if target.epoch is not None:
        parts.append(str(target.epoch))
    stem = "+".join(quote(part, safe="") for part in parts)
    return stem if len(stem) <= _STEM_MAX else hashlib.sha256(stem.encode()).hexdigest()
