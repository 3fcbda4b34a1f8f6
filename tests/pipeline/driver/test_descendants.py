"""All processes of a session, found and killed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from remuda.pipeline.driver.descendants import kill_all_in, living_in
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

# A child in a process group of its own, as Spark's Python daemon is, and its orphaned child.
_FAMILY = """
import os, subprocess, time
subprocess.Popen(["sh", "-c", "sleep 3600 & exec sleep 0"], process_group=0)
time.sleep(3600)
"""


def test_a_session_is_killed_with_those_who_left_their_group_or_lost_their_parent() -> None:
    leader = subprocess.Popen([sys.executable, "-c", _FAMILY], start_new_session=True)
    try:
        wait_until(lambda: len(living_in(leader.pid)) == 2, "the orphan is alone with the leader")
        assert kill_all_in(leader.pid) == 2
        wait_until(lambda: living_in(leader.pid) == [], "all have ended")
    finally:
        kill_all_in(leader.pid)
        leader.wait()
