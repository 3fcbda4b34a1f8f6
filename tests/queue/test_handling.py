"""What a worker does about a partition: keys in order, many at once, failures, rewinds."""

from __future__ import annotations

import random

import pytest

from remuda.partition.machine import Rejected
from remuda.queue.commands.commit import Emit
from remuda.queue.handling import Handling
from remuda.queue.model import Blocks, GroupDef, Message, NewMessage, QueueSettings, RetryDef
from remuda.queue.reports import Emitted, GiveBack, Report, ReportDone, ReportFailed, Run
from remuda.queue.takeable import Taken
from tests.queue.worlds import World, expect, message

PLENTY = 1000


def taken(position: int, key: str = "", attempt: int = 1) -> Taken:
    return Taken(position, attempt, Message(0, b"x", key))


def positions(runs: list[Run]) -> list[list[int]]:
    return [[one.position for one in run.taken] for run in runs]


def told(handling: Handling) -> list[Report]:
    """Everything that there is to report, each taken at once."""
    reports: list[Report] = []
    while (report := handling.report()) is not None:
        handling.told(report)
        reports.append(report)
    return reports


def made(by: int) -> Emitted:
    return Emitted(by, "q", NewMessage(b"made"))


# ── keys ─────────────────────────────────────────────────────────────────────────────────────


def test_messages_of_one_key_are_handled_one_after_another() -> None:
    handling = Handling()
    handling.arrived(0, [taken(0, "a"), taken(1, "b"), taken(2, "a"), taken(3, "a")])
    first, second = handling.begin(PLENTY)
    assert positions([first, second]) == [[0], [1]]
    handling.finished(second.number)
    assert handling.begin(PLENTY) == []
    handling.finished(first.number)
    (third,) = handling.begin(PLENTY)
    assert positions([third]) == [[2]]


def test_messages_without_a_key_wait_for_nothing_but_room() -> None:
    handling = Handling()
    handling.arrived(0, [taken(0), taken(1), taken(2)])
    assert positions(handling.begin(2)) == [[0], [1]]
    assert positions(handling.begin(PLENTY)) == [[2]]


def test_with_one_at_a_time_positions_are_handled_in_order() -> None:
    handling = Handling()
    handling.arrived(0, [taken(n, key) for n, key in enumerate("abcabca")])
    order: list[int] = []
    while runs := handling.begin(1):
        order += [one.position for one in runs[0].taken]
        handling.finished(runs[0].number)
    assert order == list(range(7))


def test_what_is_here_already_is_passed_over_when_it_comes_again() -> None:
    handling = Handling()
    handling.arrived(0, [taken(0, "a"), taken(1, "a")])
    (run,) = handling.begin(PLENTY)
    handling.arrived(0, [taken(0, "a"), taken(1, "a"), taken(2, "a")])
    assert handling.held == 3
    handling.finished(run.number)
    handling.arrived(0, [taken(0, "a")])
    assert positions(handling.begin(PLENTY)) == [[1]]


# ── reports ──────────────────────────────────────────────────────────────────────────────────


def test_what_is_done_while_a_report_is_under_way_goes_with_the_next() -> None:
    handling = Handling()
    handling.arrived(0, [taken(n) for n in range(4)])
    runs = handling.begin(PLENTY)
    handling.finished(runs[0].number)
    first = handling.report()
    assert isinstance(first, ReportDone)
    assert first.positions == [0]
    for run in runs[1:]:
        handling.finished(run.number)
    assert handling.report() is None
    handling.told(first)
    second = handling.report()
    assert isinstance(second, ReportDone)
    assert second.positions == [1, 2, 3]


def test_a_failure_is_told_after_what_was_done_before_it_and_before_what_is_done_later() -> None:
    handling = Handling("key")
    handling.arrived(0, [taken(0, "a"), taken(1, "b"), taken(2, "c")])
    runs = handling.begin(PLENTY)
    handling.finished(runs[0].number)
    handling.failed(runs[1].number, "no")
    handling.finished(runs[2].number)
    done, failed, later = told(handling)
    assert isinstance(done, ReportDone)
    assert done.positions == [0]
    assert failed == ReportFailed(0, 1, 1, "no")
    assert isinstance(later, ReportDone)
    assert later.positions == [2]
    assert handling.is_idle


def test_what_was_refused_with_others_is_reported_alone_and_what_it_made_fails_it() -> None:
    handling = Handling("key")
    handling.arrived(0, [taken(n) for n in range(3)])
    for run in handling.begin(PLENTY):
        handling.finished(run.number, [made(1)] if run.number == 2 else [])
    together = handling.report()
    assert together is not None
    handling.refused(together, "there is no queue q")
    reports: list[Report] = []
    while (report := handling.report()) is not None:
        reports.append(report)
        if isinstance(report, ReportDone) and report.emits:
            handling.refused(report, "there is no queue q")
        else:
            handling.told(report)
    done = [report.positions for report in reports if isinstance(report, ReportDone)]
    assert done == [[0], [1], [2]]
    assert reports[-1] == ReportFailed(0, 1, 1, "there is no queue q")


def test_what_may_not_have_been_heard_is_reported_again() -> None:
    handling = Handling("key")
    handling.arrived(0, [taken(0, "a"), taken(1, "b")])
    one, other = handling.begin(PLENTY)
    handling.finished(one.number)
    assert handling.report() is not None
    handling.cut_off()
    again = handling.report()
    assert isinstance(again, ReportDone)
    assert again.positions == [0]
    handling.told(again)
    handling.failed(other.number, "no")
    assert isinstance(handling.report(), ReportFailed)
    handling.cut_off()
    assert told(handling) == [ReportFailed(0, 1, 1, "no")]


def test_a_commit_holds_no_more_than_it_may() -> None:
    handling = Handling()
    handling.arrived(0, [taken(n) for n in range(3)])
    for run in handling.begin(PLENTY):
        position = run.taken[0].position
        handling.finished(run.number, [made(position)] * 600)
    counts = [len(report.emits) for report in told(handling) if isinstance(report, ReportDone)]
    assert counts == [600, 600, 600]


# ── failures ─────────────────────────────────────────────────────────────────────────────────


def test_behind_a_failure_the_partition_is_given_back_once_it_is_told() -> None:
    handling = Handling("partition")
    handling.arrived(0, [taken(n, key) for n, key in enumerate("abac")])
    first, second = handling.begin(2)
    handling.failed(first.number, "no")
    assert handling.begin(PLENTY) == []
    handling.arrived(0, [taken(4, "d")])
    assert handling.begin(PLENTY) == []
    assert told(handling) == [ReportFailed(0, 0, 1, "no"), GiveBack((2, 3, 4))]
    handling.finished(second.number)
    handling.arrived(0, [taken(0, "a", 2)])
    (again,) = handling.begin(PLENTY)
    assert again.taken[0].attempt == 2


def test_behind_a_failure_only_the_key_is_given_back_if_only_that_waits() -> None:
    handling = Handling("key")
    handling.arrived(0, [taken(n, key) for n, key in enumerate("abac")])
    (first,) = handling.begin(1)
    handling.failed(first.number, "no")
    handling.arrived(0, [taken(4, "a"), taken(5, "d")])
    assert positions(handling.begin(PLENTY)) == [[1], [3], [5]]
    assert told(handling) == [ReportFailed(0, 0, 1, "no"), GiveBack((2, 4))]


def test_a_failure_that_is_final_says_so() -> None:
    handling = Handling()
    handling.arrived(0, [taken(0)])
    handling.failed(handling.begin(1)[0].number, "never", final=True)
    assert told(handling) == [ReportFailed(0, 0, 1, "never", final=True)]


def test_a_failure_that_is_refused_lets_the_message_be_taken_again() -> None:
    handling = Handling("key")
    handling.arrived(0, [taken(0, "a")])
    handling.failed(handling.begin(1)[0].number, "no")
    report = handling.report()
    assert report is not None
    handling.refused(report, "it comes after one that is not done")
    assert told(handling) == [GiveBack((0,))]
    handling.arrived(0, [taken(0, "a")])
    assert positions(handling.begin(1)) == [[0]]


# ── batches ──────────────────────────────────────────────────────────────────────────────────


def test_a_batch_is_in_order_and_may_hold_a_key_more_than_once() -> None:
    handling = Handling(batch=3)
    handling.arrived(0, [taken(n, key) for n, key in enumerate("aabab")])
    (first,) = handling.begin(PLENTY)
    assert positions([first]) == [[0, 1, 2]]
    handling.arrived(0, [taken(5, "c")])
    assert positions(handling.begin(PLENTY)) == [[5]]
    handling.finished(first.number)
    assert positions(handling.begin(PLENTY)) == [[3, 4]]


def test_a_batch_that_fails_is_tried_message_by_message() -> None:
    handling = Handling("key", batch=4)
    handling.arrived(0, [taken(n, key) for n, key in enumerate("aab")])
    (batch,) = handling.begin(PLENTY)
    handling.failed(batch.number, "one of you")
    assert handling.report() is None, "which one it is, is not known yet"
    handling.arrived(0, [taken(3, "c")])
    order: list[list[int]] = []
    while runs := handling.begin(1):
        order += positions(runs)
        if order[-1] == [1]:
            handling.failed(runs[0].number, "you")
        else:
            handling.finished(runs[0].number)
    assert order == [[0], [1], [2], [3]]
    failures = [report for report in told(handling) if isinstance(report, ReportFailed)]
    assert failures == [ReportFailed(0, 1, 1, "you")]


# ── rewinds and ends ─────────────────────────────────────────────────────────────────────────


def test_after_a_rewind_nothing_is_reported_of_what_was_taken_before() -> None:
    handling = Handling()
    handling.arrived(0, [taken(5, "a"), taken(6, "a"), taken(7)])
    old, other = handling.begin(PLENTY)
    handling.finished(other.number)
    handling.arrived(1, [taken(0, "a"), taken(1, "b")])
    (new,) = handling.begin(PLENTY)
    assert positions([new]) == [[1]], "the key of the old one is still at work"
    handling.finished(old.number)
    (next_one,) = handling.begin(PLENTY)
    assert positions([next_one]) == [[0]]
    handling.finished(new.number)
    (report,) = told(handling)
    assert isinstance(report, ReportDone)
    assert (report.turn, report.positions) == (1, [1])


def test_an_answer_to_a_report_from_before_a_rewind_is_not_listened_to() -> None:
    handling = Handling()
    handling.arrived(0, [taken(0)])
    handling.finished(handling.begin(1)[0].number)
    old = handling.report()
    assert old is not None
    handling.arrived(1, [taken(0)])
    handling.told(old)
    assert handling.held == 1


def test_once_closed_it_begins_nothing_and_reports_what_was_at_work() -> None:
    handling = Handling("key", batch=2)
    handling.arrived(0, [taken(0, "a"), taken(1, "b"), taken(2, "a"), taken(3)])
    one, _ = handling.begin(2)
    handling.close()
    handling.arrived(0, [taken(4)])
    assert handling.begin(PLENTY) == []
    handling.finished(one.number)
    (report,) = [report for report in told(handling) if isinstance(report, ReportDone)]
    assert report.positions == [0, 1]
    assert not handling.is_idle


# ── against the machine ──────────────────────────────────────────────────────────────────────

KEYS = ("", "a", "b", "c", "d")
COUNT = 150


class Crew:
    """A worker's handling against the real machine, with everything that may come between."""

    def __init__(self, seed: int, blocks: Blocks, batch: int) -> None:
        self.chance = random.Random(seed)
        self.world = World()
        retry = RetryDef(0, blocks, 5, 20)
        self.world.create("q", 1, QueueSettings(keep_count=10), g=GroupDef(retry=retry))
        self.world.create("out", 1)
        self.epoch = 0
        self.sent: list[NewMessage] = []
        self.firsts: list[int] = []
        self.blocks: Blocks = blocks
        self.batch = batch
        self.begin_life()

    def begin_life(self) -> None:
        """A new owner, which knows nothing of the last."""
        self.epoch += 1
        expect(self.world.attach("g", self.epoch))
        self.handling = Handling(self.blocks, batch=self.batch)
        self.running: dict[int, Run] = {}
        self.held: set[int] = set()

    def run(self) -> None:
        steps = (self.send, self.take, self.begin, self.end, self.end, self.report, self.wait)
        for _ in range(50_000):
            if len(self.sent) == COUNT and not self.world.stats().groups["g"].lag:
                return
            match self.chance.randrange(200):
                case 0:
                    self.begin_life()
                case 1:
                    self.handling.cut_off()
                    self.held.clear()
                case _:
                    self.chance.choice(steps)()
        raise AssertionError("some message is never done")

    def send(self) -> None:
        for _ in range(min(self.chance.randrange(6), COUNT - len(self.sent))):
            self.sent.append(message(str(len(self.sent)), self.chance.choice(KEYS)))
            expect(self.world.send(self.sent[-1]))

    def take(self) -> None:
        found = self.world.take("g", 6, held=self.held)
        self.held.update(one.position for one in found.taken)
        self.handling.arrived(found.turn, found.taken)

    def begin(self) -> None:
        for run in self.handling.begin(max(0, 4 - len(self.running))):
            keys = [one.message.key for one in run.taken if one.message.key]
            busy = [one.message.key for other in self.running.values() for one in other.taken]
            assert not set(keys) & set(busy)
            self.running[run.number] = run
            self.firsts += [one.position for one in run.taken]

    def end(self) -> None:
        if not self.running:
            return
        run = self.running.pop(self.chance.choice(list(self.running)))
        if self.chance.randrange(10):
            self.handling.finished(run.number, [made(one.position) for one in run.taken])
        else:
            self.handling.failed(run.number, "no")

    def report(self) -> None:
        report = self.handling.report()
        match report:
            case None:
                return
            case GiveBack():
                self.held.difference_update(report.positions)
                answer: object = None
            case ReportDone():
                emits = tuple(
                    Emit(one.by, "out", 0, NewMessage(str(one.by).encode())) for one in report.emits
                )
                answer = self.world.commit(
                    "g", *report.positions, emits=emits, epoch=self.epoch, turn=report.turn
                )
                self.held.difference_update(report.positions)
            case ReportFailed():
                answer = self.world.fail(
                    "g", report.position, report.attempt, epoch=self.epoch, turn=report.turn
                )
                self.held.discard(report.position)
        if self.chance.randrange(20) == 0:
            self.handling.cut_off()
            self.held.clear()
        elif isinstance(answer, Rejected):
            self.handling.refused(report, answer.reason)
        else:
            self.handling.told(report)

    def wait(self) -> None:
        self.world.advance(self.chance.randrange(10))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("blocks", ["partition", "key"])
def test_all_is_handled_in_the_order_of_keys_and_what_it_made_is_there_once(
    seed: int, batch: int, blocks: Blocks
) -> None:
    crew = Crew(seed, blocks, batch)
    crew.run()
    crew.world.pump()
    firsts = list(dict.fromkeys(crew.firsts))
    assert sorted(firsts) == list(range(COUNT))
    for key in KEYS[1:]:
        mine = [position for position in firsts if crew.sent[position].key == key]
        assert mine == sorted(mine)
    assert crew.world.stats().groups["g"].done == COUNT
    assert crew.world.stats("out").sent == COUNT
