"""Spark's JVM, started as `spark-submit` would and without its shell scripts.

What the scripts work out (class path, modules to open, memory) comes from Spark's own launcher,
which answers in a tenth of a second; the JVM is then a plain child, tethered to this process. It
reads its standard input and ends at the end of it, too.
"""

from __future__ import annotations

import os
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from pyspark.find_spark_home import _find_spark_home

from remuda.errors import RemudaError
from remuda.zookeeper.java import find_java
from remuda.zookeeper.tether import tethered

_LAUNCHER = "org.apache.spark.launcher.Main"
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_LAUNCHER_TIMEOUT_S = 60.0
_POLL_S = 0.02

# Its file in the temporary directory would stay there after a SIGKILL, and a JVM without memory is
# neither dead nor alive: let it be dead.
_ALWAYS = ("-XX:-UsePerfData", "-XX:+ExitOnOutOfMemoryError")


class JvmFailed(RemudaError):
    """Spark's JVM did not start, or ended while it was needed."""


class Gateway(Struct, frozen=True):
    """Where PySpark reaches the JVM."""

    port: int
    secret: str


class Jvm:
    """Spawn it from a thread that lives as long as the JVM should: see `tether`."""

    def __init__(self, scratch: Path, heap_mb: int, java_options: Sequence[str] = ()) -> None:
        """`scratch` is a directory for everything that Java and Spark put down for a while."""
        self._told = scratch / "gateway"
        home = Path(_find_spark_home()).absolute()
        environment = {**os.environ, **_environment(home)}
        java, *rest = _command(home, heap_mb, environment)
        ours = (*_ALWAYS, f"-Djava.io.tmpdir={scratch}", *java_options)
        self._process = subprocess.Popen(
            tethered([java, *ours, *rest]),
            env={
                **environment,
                "SPARK_LOCAL_DIRS": str(scratch),
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._told),
            },
            stdin=subprocess.PIPE,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def gateway(self, timeout_s: float) -> Gateway:
        """Wait until it can be reached."""
        deadline = time.monotonic() + timeout_s
        while not self._told.exists():
            if self._process.poll() is not None:
                raise JvmFailed(f"Spark's JVM ended, {self.ending()}")
            if time.monotonic() > deadline:
                raise JvmFailed(f"Spark's JVM does not answer after {timeout_s:g} s")
            time.sleep(_POLL_S)
        return _gateway(self._told.read_bytes())

    def has_ended(self, within_s: float = 0.0) -> bool:
        """Whether it is gone, or goes within so much time."""
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def ending(self) -> str:
        code = self._process.poll()
        if code is None:
            return "and still runs"
        return f"killed by signal {-code}" if code < 0 else f"with exit code {code}"

    def kill(self) -> None:
        self._process.kill()


def _environment(home: Path) -> Mapping[str, str]:
    core = next(iter(sorted((home / "jars").glob("spark-core_*.jar"))), None)
    if core is None:
        raise JvmFailed(f"there is no Spark in {home}: `pip install --force-reinstall pyspark`")
    return {
        "SPARK_HOME": str(home),
        # The launcher looks for it beside the sources of Spark unless it is told.
        "SPARK_SCALA_VERSION": core.name.removeprefix("spark-core_").partition("-")[0],
        "SPARK_CONNECT_MODE": "0",
        # In the C locale Java cannot name a file that is not plain ASCII.
        "LC_ALL": "C.UTF-8",
    }


def _command(home: Path, heap_mb: int, environment: Mapping[str, str]) -> list[str]:
    launcher = next(iter(sorted((home / "jars").glob("spark-launcher_*.jar"))), None)
    if launcher is None:
        raise JvmFailed(f"there is no Spark in {home}: `pip install --force-reinstall pyspark`")
    asked = subprocess.run(
        [
            *(str(find_java()), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            *("-cp", str(launcher), _LAUNCHER, _SUBMIT),
            *("--driver-memory", f"{heap_mb}m", "pyspark-shell"),
        ],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_LAUNCHER_TIMEOUT_S,
        check=False,
    )
    if asked.returncode != 0:
        said = asked.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise JvmFailed(f"Spark's launcher refuses to start a JVM: {said}")
    return launched(asked.stdout)


def launched(printed: bytes) -> list[str]:
    """What the launcher printed: complaints, an empty line, and the command's words, each with a
    NUL at its end."""
    words = printed.decode().split("\0")
    return [word for word in (word.lstrip("\n") for word in words[1:]) if word]


def _gateway(told: bytes) -> Gateway:
    """A port, a length and a secret, as Java's DataOutputStream writes them."""
    port, length = struct.unpack_from("!ii", told)
    return Gateway(port, told[8 : 8 + length].decode())
