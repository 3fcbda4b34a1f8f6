"""`remuda queue`, as a script and as a person use it, and in a pipe."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remuda.cli.main import app
from remuda.errors import RemudaError
from tests.cli import commands
from tests.cli.commands import complaint

pytestmark = pytest.mark.integration

EXAMPLE = Path(__file__).parents[2] / "examples" / "queue"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The data directory of a cluster of one."""
    data = str(tmp_path_factory.mktemp("queues") / "data")
    commands.asked("up", "--detach", "--data", data, "--session-timeout", "2", "--peers", "1")
    yield data
    commands.asked("down", "--data", data)


@pytest.fixture(autouse=True)
def in_the_cluster(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMUDA_DATA", cluster)
    monkeypatch.setenv("REMUDA_SESSION_TIMEOUT", "2")


def shown(*words: str) -> str:
    """What `remuda queue` prints, run in this process: most of the time of a process of its own
    goes into its start."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        app(["queue", *words], standalone_mode=False)
    return out.getvalue()


def asked(*words: str) -> Any:
    return json.loads(shown(*words, "--json"))


def refused(*words: str) -> str:
    with pytest.raises(RemudaError) as error:
        shown(*words)
    return str(error.value)


def piped(words: list[str], stdin: bytes) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "remuda.cli.main", "queue", *words],
        input=stdin,
        stdout=subprocess.PIPE,
        timeout=120,
        check=True,
        env=os.environ,
    )
    return done.stdout


def test_lines_go_in_at_one_end_and_come_out_at_the_other() -> None:
    assert asked("create", "lines", "--parts", "3")["parts"] == 3
    lines = [f"line {n}" for n in range(500)]
    told = piped(["send", "lines", "--json"], "\n".join([*lines, "", ""]).encode())
    assert json.loads(told) == {"queue": "lines", "sent": 500}
    first = piped(["consume", "lines", "--limit", "120"], b"").decode().splitlines()
    assert len(first) == 120
    rest = piped(["consume", "lines", "--until-end"], b"").decode().splitlines()
    assert sorted(first + rest) == sorted(lines), "each is printed once"
    (row,) = [row for row in asked("list") if row["name"] == "lines"]
    assert row["sent"] == 500
    assert row["groups"]["shell"]["lag"] == 0


def test_a_reader_that_has_seen_enough_ends_the_pipe_and_the_rest_stays() -> None:
    asked("create", "enough", "--parts", "1")
    piped(["send", "enough"], b"\n".join(b"%d" % n for n in range(3000)))
    shell = f"{sys.executable} -m remuda.cli.main queue consume enough | head -n 5"
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, timeout=120, check=False, env=os.environ
    )
    assert done.stdout.split() == [b"0", b"1", b"2", b"3", b"4"]
    assert done.stderr == b""
    group = asked("show", "enough")["groups"]["shell"]
    assert group["retrying"] == group["failed"] == 0
    assert 0 < group["lag"] < 3000


def test_keyed_lines_with_headers_are_seen_by_peek_and_consume() -> None:
    asked("create", "keyed", "--parts", "1")
    words = ["send", "keyed", "--keyed", "--header", "from=here"]
    piped(words, b"ann\tone\nbob\ttwo\n")
    seen = asked("peek", "keyed")
    assert [(one["key"], one["body"]) for one in seen] == [("ann", "one"), ("bob", "two")]
    assert "one" in shown("peek", "keyed")
    lines = piped(["consume", "keyed", "--limit", "2", "--json"], b"").splitlines()
    got = [json.loads(line) for line in lines]
    assert [(one["key"], one["body"]) for one in got] == [("ann", "one"), ("bob", "two")]
    assert got[0]["headers"] == {"from": "here"}


def test_a_group_can_be_rewound_and_a_queue_purged_and_sealed() -> None:
    asked("create", "again", "--parts", "1")
    assert asked("send", "again", "a", "b", "c")["sent"] == 3
    consume = ["consume", "again", "--until-end"]
    assert piped(consume, b"").split() == [b"a", b"b", b"c"]
    assert asked("rewind", "again", "shell", "--position", "1")["positions"] == {"0": 1}
    assert piped(consume, b"").split() == [b"b", b"c"]
    assert asked("purge", "again")["purged"] == 3
    assert asked("seal", "again")["sealed"]
    assert piped(consume, b"") == b""
    assert asked("grow", "again", "2")["parts"] == 2
    assert "sealed" in refused("send", "again", "d")


def test_dead_letters_can_be_looked_at_when_there_are_none() -> None:
    asked("create", "calm", "--parts", "2")
    asked("send", "calm", "x")
    piped(["consume", "calm", "--limit", "1"], b"")
    assert asked("dead", "calm", "shell") == []
    assert "no dead letters" in shown("dead", "calm", "shell")
    told = asked("replay", "calm", "shell")
    assert told == {"queue": "calm", "group": "shell", "letters": 0, "discarded": False}


def test_a_tracked_message_is_waited_for() -> None:
    asked("create", "tracked", "--parts", "1")
    words = [sys.executable, "-m", "remuda.cli.main", "queue"]
    with subprocess.Popen(
        [*words, "send", "tracked", "x", "--track", "60", "--json"],
        stdout=subprocess.PIPE,
        env=os.environ,
    ) as sending:
        assert piped(["consume", "tracked", "--limit", "1"], b"") == b"x\n"
        out, _ = sending.communicate(timeout=120)
    assert json.loads(out) == {"queue": "tracked", "sent": 1, "trees": {"done": 1}}


def test_the_example_works_as_its_readers_run_it() -> None:
    asked("create", "orders", "--parts", "4")
    asked("create", "receipts", "--parts", "2")
    words = [sys.executable, "-m", "remuda.cli.main", "work", "shop:charge", "shop:post"]
    with subprocess.Popen(words, cwd=EXAMPLE, env=os.environ, stderr=subprocess.PIPE) as shop:
        bought = subprocess.run(
            [sys.executable, "buy.py", "20"],
            cwd=EXAMPLE,
            env=os.environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        shop.terminate()
        assert shop.wait(60) == 0
    assert bought.stdout.splitlines()[-1] == "20 done", bought.stderr
    assert asked("show", "receipts")["groups"]["post"]["done"] == 20


def test_people_are_shown_tables() -> None:
    asked("create", "shown", "--parts", "2")
    asked("send", "shown", "x")
    assert "shown" in shown("list")
    page = shown("show", "shown")
    assert "2 partitions, 1 messages wait" in page
    assert "no group yet" in page


def test_what_cannot_be_is_said_in_one_line() -> None:
    assert "nowhere" in complaint("queue", "consume", "nowhere")
    assert "module:handler" in complaint("work", "nothing")
    assert "nowhere" in refused("show", "nowhere")
    assert "--position or --time" in refused("rewind", "lines", "shell")
    assert "--part" in refused("replay", "lines", "shell", "--number", "1")
    assert "name=value" in refused("send", "lines", "x", "--header", "no")
    asked("create", "bad", "--parts", "1")
    assert "delay_ms" in refused("send", "bad", "x", "--delay", "-1")
    assert "no tab" in refused("send", "bad", "x", "--keyed")
    assert "partitions" in refused("grow", "bad", "0")


def test_what_is_no_text_is_shown_as_base64() -> None:
    asked("create", "binary", "--parts", "1")
    piped(["send", "binary"], b"\xff\xfe\n")
    (seen,) = asked("peek", "binary")
    assert seen["body_base64"] == "//4="
    assert piped(["consume", "binary", "--limit", "1"], b"") == b"\xff\xfe\n"
