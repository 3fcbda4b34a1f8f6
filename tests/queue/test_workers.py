"""Workers that take over from each other, freeze, wake and fail: order and completeness hold."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from remuda.partition.machine import Rejected, Rejection
from remuda.queue.model import Blocks, GroupDef, NewMessage, QueueSettings, RetryDef
from remuda.queue.takeable import Taken
from tests.queue.worlds import World, expect

MESSAGES = 120
KEYS = ("", "a", "b", "c", "d")
FAILING_PERCENT = 10


@dataclass
class Worker:
    """What docs/queues-state.md says that a worker owes, and nothing else."""

    epoch: int
    turn: int
    held: dict[int, Taken] = field(default_factory=dict[int, Taken])
    handled: dict[int, Taken] = field(default_factory=dict[int, Taken])
    after: int = -1


class Crew:
    def __init__(self, seed: int, blocks: Blocks) -> None:
        self.chance = random.Random(seed)
        self.blocks = blocks
        self.world = World()
        retry = RetryDef(0, blocks, 20, 80)
        self.world.create("q", 1, QueueSettings(keep_count=10), g=GroupDef(retry=retry))
        self.worker = self.take_over(Worker(-1, 0))
        self.frozen: list[Worker] = []
        self.sent: list[NewMessage] = []
        self.deliveries: list[int] = []
        self.refused = 0

    def run(self) -> None:
        steps = (self.send, self.take, self.handle, self.handle, self.commit, self.wait)
        for _ in range(20_000):
            if len(self.sent) == MESSAGES and not self.world.stats().groups["g"].lag:
                return
            if self.chance.randrange(40):
                self.chance.choice(steps)()
            else:
                self.frozen.append(self.worker)
                self.worker = self.take_over(self.worker)
            if self.frozen and not self.chance.randrange(20):
                self.wake(self.frozen.pop())
        raise AssertionError("some message is never done")

    def take_over(self, before: Worker) -> Worker:
        epoch = before.epoch + 1
        return Worker(epoch, expect(self.world.attach("g", epoch)).turn)

    def send(self) -> None:
        count = min(self.chance.randrange(8), MESSAGES - len(self.sent))
        for _ in range(count):
            body = str(len(self.sent)).encode()
            self.sent.append(NewMessage(body, self.chance.choice(KEYS)))
        if count:
            expect(self.world.send(*self.sent[-count:]))

    def take(self) -> None:
        worker = self.worker
        mine = {**worker.held, **worker.handled}
        found = self.world.take("g", 6, held=mine, after=worker.after)
        worker.held.update((one.position, one) for one in found.taken)
        if len(found.taken) < 6:
            worker.after = self.world.stats().next - 1

    def handle(self) -> None:
        worker = self.worker
        firsts: dict[str, int] = {}
        for position, one in sorted(worker.held.items()):
            firsts.setdefault(one.message.key or f"no key, {position}", position)
        waiting = list(firsts.values())
        if not waiting:
            return
        one = worker.held.pop(self.chance.choice(waiting))
        if one.attempt == 1:
            self.deliveries.append(one.position)
        if self.chance.randrange(100) < FAILING_PERCENT:
            self.flush()
            self.fail(one)
        else:
            worker.handled[one.position] = one

    def fail(self, one: Taken) -> None:
        worker = self.worker
        expect(self.world.fail("g", one.position, one.attempt, epoch=worker.epoch))
        if self.blocks == "partition":
            worker.held.clear()
        else:
            key = one.message.key
            worker.held = {at: it for at, it in worker.held.items() if it.message.key != key}
        worker.after = -1

    def commit(self) -> None:
        if self.chance.randrange(3):
            self.flush()

    def flush(self) -> None:
        worker = self.worker
        if worker.handled:
            done = expect(self.world.commit("g", *worker.handled, epoch=worker.epoch))
            worker.handled.clear()
            if done.freed:
                worker.after = -1

    def wait(self) -> None:
        self.world.advance(self.chance.randrange(30))

    def wake(self, worker: Worker) -> None:
        for position in (*worker.held, *worker.handled):
            for answer in (
                self.world.commit("g", position, epoch=worker.epoch),
                self.world.fail("g", position, epoch=worker.epoch),
            ):
                assert isinstance(answer, Rejected)
                assert answer.kind is Rejection.STALE
                self.refused += 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("blocks", ["partition", "key"])
def test_every_message_is_handled_in_the_order_of_its_key_and_done_once(
    seed: int, blocks: Blocks
) -> None:
    crew = Crew(seed, blocks)
    crew.run()
    firsts = list(dict.fromkeys(crew.deliveries))
    assert sorted(firsts) == list(range(MESSAGES))
    for key in KEYS[1:]:
        mine = [position for position in firsts if crew.sent[position].key == key]
        assert mine == sorted(mine)
    stats = crew.world.stats().groups["g"]
    assert stats.done == MESSAGES
    assert stats.failed > 0
    assert crew.refused > 0
    crew.world.check_replay()
