"""A small network: how much gets from a source to a sink through edges of limited room.

Every answer is exact: what flows already is rerouted when something else needs its way. Edges may
have a price; `push` sends all it can at the least price in sum, `pull` does not look at prices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


class Network:
    """Nodes are numbers. An edge is an even number, and the one after it is its way back: room
    there is what flows here."""

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._prices: list[int] = []
        self._leaving: list[list[int]] = []
        self._room: list[int] = []
        self.source, self.sink = self.node(), self.node()

    def copy(self) -> Network:
        """A network of the same edges, which must be complete, with a flow of its own."""
        other = Network()
        other._ends, other._prices, other._leaving = self._ends, self._prices, self._leaving
        other._room = list(self._room)
        return other

    # ── building ─────────────────────────────────────────────────────────────────────────────

    def node(self) -> int:
        self._leaving.append([])
        return len(self._leaving) - 1

    def edge(self, start: int, end: int, room: int, price: int = 0) -> int:
        number = len(self._ends)
        self._ends += [end, start]
        self._prices += [price, -price]
        self._room += [room, 0]
        self._leaving[start].append(number)
        self._leaving[end].append(number + 1)
        return number

    # ── flowing ──────────────────────────────────────────────────────────────────────────────

    def flow(self, edge: int) -> int:
        return self._room[edge + 1]

    def pull(self, edge: int, wanted: int) -> int:
        """Makes an edge into the sink wider by what gets there through it, up to `wanted`."""
        arrived = 0
        while arrived < wanted and (way := self._way_to(self._ends[edge + 1])):
            amount = min(wanted - arrived, *(self._room[step] for step in way))
            self._send(way, amount)
            self._room[edge + 1] += amount
            arrived += amount
        return arrived

    def withdraw(self, edge: int, amount: int) -> None:
        """Takes so much back from an edge into the sink, and makes it narrower by that."""
        while amount:
            way, node = list[int](), self._ends[edge + 1]
            while node != self.source:
                back = next(e for e in self._leaving[node] if e % 2 and self._room[e])
                way.append(back)
                node = self._ends[back]
            part = min(amount, *(self._room[step] for step in way))
            self._send(way, part)
            self._room[edge + 1] -= part
            amount -= part

    def push(self) -> int:
        """Sends all that gets from source to sink, as cheaply as can be; how much that is."""
        arrived = 0
        while amount := self._push_at(self._prices_from_source()):
            arrived += amount
        return arrived

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    def _send(self, way: Sequence[int], amount: int) -> None:
        for edge in way:
            self._room[edge] -= amount
            self._room[edge ^ 1] += amount

    def _way_to(self, goal: int) -> list[int]:
        """The shortest way from the source, as edges in order; none if there is none. Searched
        from its end, as the source leads everywhere."""
        onward = {goal: -1}
        waiting = deque([goal])
        while waiting and self.source not in onward:
            node = waiting.popleft()
            for edge in self._leaving[node]:
                start = self._ends[edge]
                if self._room[edge ^ 1] and start not in onward and start != self.sink:
                    onward[start] = edge ^ 1
                    waiting.append(start)
        way: list[int] = []
        node = self.source
        while onward.get(node, -1) >= 0:
            way.append(onward[node])
            node = self._ends[onward[node]]
        return way

    def _prices_from_source(self) -> list[int | None]:
        """The least price at which each node is reached; None where it is not."""
        prices: list[int | None] = [None] * len(self._leaving)
        prices[self.source] = 0
        waiting, is_waiting = deque([self.source]), [False] * len(self._leaving)
        while waiting:
            node = waiting.popleft()
            is_waiting[node] = False
            here = prices[node] or 0
            for edge in self._leaving[node]:
                end, price = self._ends[edge], here + self._prices[edge]
                known = prices[end]
                if self._room[edge] and (known is None or price < known):
                    prices[end] = price
                    if not is_waiting[end]:
                        is_waiting[end] = True
                        waiting.append(end)
        return prices

    def _push_at(self, prices: Sequence[int | None]) -> int:
        """Sends what gets to the sink at the least price. Each node's edges are tried once, in
        order: one that led nowhere is not tried again."""
        arrived = 0
        tried = [0] * len(self._leaving)
        way: list[int] = []
        on_way = [False] * len(self._leaving)
        node = self.source
        while True:
            if node == self.sink:
                amount = min(self._room[edge] for edge in way)
                self._send(way, amount)
                arrived += amount
                for edge in way:
                    on_way[self._ends[edge]] = False
                way, node = [], self.source
            on_way[node] = True
            edge = self._next_edge(node, prices, tried, on_way)
            if edge is not None:
                way.append(edge)
                node = self._ends[edge]
            elif way:
                on_way[node] = False
                node = self._ends[way.pop() ^ 1]
                tried[node] += 1
            else:
                return arrived

    def _next_edge(
        self, node: int, prices: Sequence[int | None], tried: list[int], on_way: Sequence[bool]
    ) -> int | None:
        leaving, here = self._leaving[node], prices[node]
        while here is not None and tried[node] < len(leaving):
            edge = leaving[tried[node]]
            end = self._ends[edge]
            if self._room[edge] and not on_way[end] and prices[end] == here + self._prices[edge]:
                return edge
            tried[node] += 1
        return None
