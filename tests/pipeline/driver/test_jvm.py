"""How Spark's JVM is started."""

from __future__ import annotations

from remuda.pipeline.driver.jvm import launched


def test_the_command_is_read_from_what_the_launcher_prints() -> None:
    assert launched(b"a warning\n\0\n/bin/java\0-cp\0a b:c\0") == ["/bin/java", "-cp", "a b:c"]
