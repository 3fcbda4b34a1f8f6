"""Where Java is, and where the jars of ZooKeeper are: they come in PySpark's wheel."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from remuda.errors import NoJava, ServerFailed

_OLDEST = 17
_VERSION_TIMEOUT_S = 30.0
_REMEDY = (
    f"install Java {_OLDEST} or later (Debian, Ubuntu: `apt install openjdk-17-jre-headless`) "
    "or set JAVA_HOME to one"
)

# What a server loads without TLS, alone or in an ensemble. All of PySpark's jars would do as
# well, but looking through 250 of them makes the start slower.
_JARS = (
    "zookeeper-3*.jar",
    "zookeeper-jute-3*.jar",
    "slf4j-api-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
)


def find_java() -> Path:
    """The `java` below JAVA_HOME, or else the one on PATH; raises NoJava if it will not do."""
    java = _candidate()
    version = _major_version_of(java)
    if version < _OLDEST:
        raise NoJava(f"{java} is Java {version}: {_REMEDY}")
    return java


def class_path() -> str:
    """The jars that the server needs. PySpark itself is not imported: that takes a while."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise ServerFailed(
            "PySpark brings the jars of ZooKeeper, and is not installed: `pip install pyspark`"
        )
    jars = Path(spec.submodule_search_locations[0]).absolute() / "jars"
    found = [next(iter(sorted(jars.glob(pattern))), None) for pattern in _JARS]
    for pattern, jar in zip(_JARS, found, strict=True):
        if jar is None:
            raise ServerFailed(
                f"no {pattern} in {jars}: `pip install --force-reinstall pyspark` brings it back"
            )
    return os.pathsep.join(str(jar) for jar in found)


def major_version(printed: str) -> int | None:
    """What `java -version` printed, as 8, 11, 17, 21; None if it names no version."""
    match = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(match[1]) if match else None


def _candidate() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home).absolute() / "bin" / "java"
        if not java.is_file():
            raise NoJava(f"JAVA_HOME is {home}, and there is no bin/java in it: {_REMEDY}")
        return java
    found = shutil.which("java")
    if found is None:
        raise NoJava(f"there is no Java: {_REMEDY}")
    return Path(found).absolute()


@functools.cache
def _major_version_of(java: Path) -> int:
    """Cached, because asking starts a JVM and an ensemble would ask three times."""
    try:
        asked = subprocess.run(
            [java, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoJava(f"{java} cannot be run ({error}): {_REMEDY}") from None
    version = major_version(asked.stdout.decode(errors="replace"))
    if version is None:
        raise NoJava(f"{java} does not tell its version: {_REMEDY}")
    return version
