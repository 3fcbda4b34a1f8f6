"""A workflow read as a graph."""

from __future__ import annotations

from collections.abc import Iterable

from remuda.pipeline.model.job import TaskName

Edge = tuple[TaskName, TaskName]


class Graph:
    def __init__(self, edges: Iterable[Edge]) -> None:
        self.following: dict[TaskName, list[TaskName]] = {}
        self.preceding: dict[TaskName, list[TaskName]] = {}
        for source, to in edges:
            for name in (source, to):
                self.following.setdefault(name, [])
                self.preceding.setdefault(name, [])
            if to not in self.following[source]:
                self.following[source].append(to)
                self.preceding[to].append(source)

    @property
    def names(self) -> list[TaskName]:
        """In the order in which the workflow mentions them."""
        return list(self.following)

    def order(self) -> list[TaskName]:
        """Each task after all that come before it; among equals, as the workflow mentions them.

        Tasks on a cycle, and behind one, are left out.
        """
        waits_for = {name: len(before) for name, before in self.preceding.items()}
        ready = [name for name in self.names if waits_for[name] == 0]
        ordered: list[TaskName] = []
        while ready:
            name = ready.pop(0)
            ordered.append(name)
            for after in self.following[name]:
                waits_for[after] -= 1
                if waits_for[after] == 0:
                    ready.append(after)
        return ordered

    def cycle(self) -> list[TaskName]:
        """The tasks of one cycle in order, or none."""
        left = set(self.names) - set(self.order())
        for start in (name for name in self.names if name in left):
            path = self._path_back(start, left)
            if path:
                return path
        return []

    def _path_back(self, start: TaskName, within: set[TaskName]) -> list[TaskName]:
        paths = [[start]]
        seen: set[TaskName] = set()
        while paths:
            path = paths.pop(0)
            for after in self.following[path[-1]]:
                if after == start:
                    return path
                if after in within and after not in seen:
                    seen.add(after)
                    paths.append([*path, after])
        return []
