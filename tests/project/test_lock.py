"""requirements.lock is whole, exact, and says nothing of where anything is fetched from."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

PIN = re.compile(
    r"[a-z0-9]+(-[a-z0-9]+)*==[0-9][0-9a-z.+!]*"
    r"( ; .+?)?"
    r"(?P<hashes>( --hash=sha256:[0-9a-f]{64})*)"
)
HOST = re.compile(r"\b[a-z0-9-]+\.(com|dev|io|net|org)\b", re.IGNORECASE)


def normalised(name: str) -> str:
    """As package indexes compare names: case, and what separates words, do not count."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(text: str) -> list[str]:
    """One line for each requirement, with its hashes and without comments."""
    code = "".join(f"{line}\n" for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [
        " ".join(line.split()) for line in code.replace("\\\n", " ").splitlines() if line.strip()
    ]


@pytest.fixture(scope="module")
def lock() -> str:
    return (ROOT / "requirements.lock").read_text()


def test_every_dependency_in_pyproject_is_locked(lock: str) -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    names = {normalised(re.split(r"[^A-Za-z0-9._-]", want, maxsplit=1)[0]) for want in wanted}
    locked = {line.split("==")[0] for line in requirements(lock)}
    assert names <= locked, f"run `make lock`: {', '.join(sorted(names - locked))} not locked"


def test_every_requirement_is_pinned_and_hashed(lock: str) -> None:
    for line in requirements(lock):
        pin = PIN.fullmatch(line)
        assert pin, f"not a plain pin: {line}"
        assert pin["hashes"], f"no hash: {line}"


def test_the_lock_holds_no_url_no_host_and_no_path(lock: str) -> None:
    for number, line in enumerate(lock.splitlines(), start=1):
        where = f"requirements.lock:{number}: {line}"
        assert "/" not in line, f"a URL or a path: {where}"
        assert not HOST.search(line), f"a host: {where}"
        assert not re.match(r"\s*-(?!-hash=)", line), f"an option: {where}"


@pytest.mark.parametrize(
    "line",
    [
        "kazoo>=2.11 --hash=sha256:" + "0" * 64,
        "kazoo @ https://example.invalid/kazoo.whl",
        "-e .",
        "--find-links wheels",
    ],
)
def test_a_line_that_is_no_plain_pin_is_noticed(line: str) -> None:
    assert not PIN.fullmatch(line)


def test_a_pin_without_a_hash_is_noticed() -> None:
    pin = PIN.fullmatch(
        requirements("kazoo==2.11.0 ; sys_platform == 'linux' \\\n    # via x\n")[0]
    )
    assert pin
    assert not pin["hashes"]
