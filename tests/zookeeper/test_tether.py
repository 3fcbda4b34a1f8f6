"""A tethered child is the command itself, and ends with its parent."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from remuda.zookeeper.tether import tethered

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tether")

PARENT = """
import subprocess, sys, time
from remuda.zookeeper.tether import tethered
child = subprocess.Popen(tethered(["sleep", "600"]), start_new_session=True)
print(child.pid, flush=True)
sys.stdin.read()
"""


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def has_ended(pid: int) -> bool:
    """Gone, or a zombie that its new parent has yet to reap."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def eventually(condition: Callable[[], bool], within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while not (done := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return done


@linux_only
@pytest.mark.integration
def test_the_child_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert not has_ended(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        assert eventually(lambda: has_ended(child), within_s=10)


@linux_only
@pytest.mark.integration
def test_a_child_whose_parent_ended_before_it_began_does_not_begin() -> None:
    # The shell stands for whoever inherits an orphan: it is not the parent that was named.
    orphan = run(["sh", "-c", '"$@"; exit $?', "sh", *tethered(["echo", "began"])])
    assert (orphan.returncode, orphan.stdout) == (1, "")


@pytest.mark.integration
def test_the_child_is_the_command_itself_and_keeps_its_pid() -> None:
    with subprocess.Popen(
        tethered(["sh", "-c", "echo $$; exit 7"]), stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert int(child.stdout.read()) == child.pid
    assert child.returncode == 7


@pytest.mark.integration
def test_arguments_arrive_as_they_were_given() -> None:
    words = ["a b", "", "--flag", "-c", "ü", "$HOME", "'"]
    assert run(tethered(["printf", "%s|", *words])).stdout == "".join(f"{w}|" for w in words)


@linux_only
@pytest.mark.integration
def test_the_command_ignores_no_signal_that_it_would_not_ignore_untethered() -> None:
    # By its full path, as the launcher is: by a name, Python 3.13 spawns in another way, and one
    # that leaves other signals ignored.
    grep = shutil.which("grep")
    assert grep is not None
    ignored = [grep, "SigIgn", "/proc/self/status"]
    assert run(tethered(ignored)).stdout == run(ignored).stdout


@linux_only
@pytest.mark.integration
def test_a_command_that_does_not_exist_is_reported_as_a_shell_does() -> None:
    failed = run(tethered(["no-such-command"]))
    assert failed.returncode == 127
    assert failed.stderr == "no-such-command: No such file or directory\n"


@linux_only
@pytest.mark.integration
def test_the_launcher_needs_neither_site_packages_nor_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ctypes.py").write_text("raise SystemExit('a stranger was imported')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert run(tethered(["echo", "began"])).stdout == "began\n"


def test_elsewhere_than_on_linux_the_command_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert tethered(["java", "-version"]) == ["java", "-version"]


def test_the_parent_is_the_process_that_asks() -> None:
    assert str(os.getpid()) in tethered(["true"])
