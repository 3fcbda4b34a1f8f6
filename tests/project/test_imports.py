"""Imports point one way, and what is pure stays pure: the rules, and the checker they use.

Every import counts, wherever it stands: at the top, inside a function, under `TYPE_CHECKING`.
A type that is imported "only for checking" still says which way the dependency points.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"

# Lowest first. A module may import from its own part and from the layers below it; the parts of
# one layer do not know each other. FACADE is `remuda/__init__.py`: the public names.
FACADE = "remuda"
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("config", "clock", "v1"),
    ("zookeeper",),
    ("log",),
    ("replica",),
    ("ownership",),
    ("peer",),
    ("partition",),
    ("wire",),
    ("service", "queue", "workflow", "pipeline"),
    (FACADE,),
    ("api",),
    ("web",),
    ("cli",),
)
LAYER_OF = {part: number for number, layer in enumerate(LAYERS) for part in layer}

# The simulator stands beside the layers: it may drive anything except what needs the world,
# and what ships never leans on it.
SIMULATOR = "testing"
BEYOND_THE_SIMULATOR = frozenset({"zookeeper", "v1", "wire", "api", "web", "cli"})
KNOWN_PARTS = frozenset(LAYER_OF) | {SIMULATOR}

# Same input, same output, on every peer and in every year. Packages and single modules.
PURE = (
    "remuda.replica",
    "remuda.ownership",
    "remuda.peer.core",
    "remuda.peer.job_keeper",
    "remuda.partition.fold",
    "remuda.partition.history",
    "remuda.partition.keys",
    "remuda.partition.machine",
    "remuda.partition.overlay",
)
IMPURE = frozenset(
    {
        "asyncio",
        "datetime",
        "kazoo",
        "logging",
        "os",
        "pathlib",
        "random",
        "secrets",
        "socket",
        "subprocess",
        "threading",
        "time",
        "uuid",
    }
)


@dataclass(frozen=True, slots=True)
class Import:
    path: str
    line: int
    module: str
    """The module that imports."""
    target: str
    """What it imports, as far as the statement says: `remuda.log.Entry`, `os.path`, `time`."""

    @property
    def importer(self) -> str:
        return part_of(self.module)

    @property
    def imported(self) -> str:
        """The part of Remuda that is imported, or "" if it is not ours."""
        return part_of(self.target) if is_within(self.target, FACADE) else ""

    @property
    def library(self) -> str:
        return self.target.split(".")[0]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.module} imports {self.target}"


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def part_of(name: str) -> str:
    """`remuda.log.port` → `log`. A public name taken from the facade is the facade."""
    _, _, inside = name.partition(".")
    part = inside.split(".")[0]
    if part == "__main__":  # `python -m remuda` is the command line
        return "cli"
    return part if part in KNOWN_PARTS else FACADE


def parse(source: str, module: str, path: str = "a.py", *, package: bool = False) -> list[Import]:
    """Every import in the source text of one module."""
    return [
        Import(path, line, module, target)
        for line, target in _targets(ast.parse(source), module if package else _parent(module))
    ]


def _targets(tree: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                above = package
                for _ in range(node.level - 1):
                    above = _parent(above)
                origin = f"{above}.{origin}".rstrip(".")
            for alias in node.names:
                yield node.lineno, f"{origin}.{alias.name}"


def _parent(module: str) -> str:
    return module.rpartition(".")[0]


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted((SRC / FACADE).rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return [
        found
        for module, path in modules()
        for found in parse(
            path.read_text(),
            module,
            str(path.relative_to(SRC.parent)),
            package=path.name == "__init__.py",
        )
    ]


# ── the rules: each takes imports, and gives back those that break it ────────────────────────


def upward(imports: Iterable[Import]) -> list[Import]:
    return [
        i
        for i in imports
        if i.importer in LAYER_OF
        and i.imported in LAYER_OF
        and LAYER_OF[i.imported] > LAYER_OF[i.importer]
    ]


def sideways(imports: Iterable[Import]) -> list[Import]:
    return [
        i
        for i in imports
        if i.importer != i.imported and LAYER_OF.get(i.importer, -1) == LAYER_OF.get(i.imported)
    ]


def kazoo_elsewhere(imports: Iterable[Import]) -> list[Import]:
    return [i for i in imports if i.library == "kazoo" and i.importer != "zookeeper"]


def impure(imports: Iterable[Import]) -> list[Import]:
    return [
        i
        for i in imports
        if any(is_within(i.module, pure) for pure in PURE)
        and (i.library in IMPURE or i.imported == "clock")
    ]


def zookeeper_in_the_fold(imports: Iterable[Import]) -> list[Import]:
    return [
        i for i in imports if i.importer in {"replica", "ownership"} and i.imported == "zookeeper"
    ]


def simulator_outside(imports: Iterable[Import]) -> list[Import]:
    return [i for i in imports if i.importer == SIMULATOR and i.imported in BEYOND_THE_SIMULATOR]


def simulator_shipped(imports: Iterable[Import]) -> list[Import]:
    return [i for i in imports if i.importer != SIMULATOR and i.imported == SIMULATOR]


Rule = Callable[[Iterable[Import]], list[Import]]
RULES: tuple[Rule, ...] = (
    upward,
    sideways,
    kazoo_elsewhere,
    impure,
    zookeeper_in_the_fold,
    simulator_outside,
    simulator_shipped,
)


def expect_none(broken: list[Import], fix: str) -> None:
    assert not broken, "\n".join([*map(str, broken), fix])


def test_every_module_belongs_to_a_layer() -> None:
    strays = [
        str(path.relative_to(SRC.parent))
        for module, path in modules()
        if module not in {FACADE, f"{FACADE}.__main__"} and module.split(".")[1] not in KNOWN_PARTS
    ]
    assert not strays, f"give these a place in LAYERS: {', '.join(strays)}"


def test_a_module_imports_only_its_own_part_and_lower_layers(imports: list[Import]) -> None:
    expect_none(upward(imports), "move what is shared down, or the importer up")


def test_parts_of_one_layer_such_as_the_four_kinds_never_import_each_other(
    imports: list[Import],
) -> None:
    expect_none(sideways(imports), "what two of them need belongs to a layer below both")


def test_only_the_zookeeper_package_knows_kazoo(imports: list[Import]) -> None:
    expect_none(kazoo_elsewhere(imports), "remuda.zookeeper is the only edge to ZooKeeper")


def test_pure_modules_know_no_clock_no_chance_and_no_world(imports: list[Import]) -> None:
    expect_none(
        impure(imports), "time, ids and choices are stamped into the command by its proposer"
    )


def test_the_replica_and_the_plan_do_not_know_where_the_log_is_kept(imports: list[Import]) -> None:
    expect_none(zookeeper_in_the_fold(imports), "the fold sees entries, never their store")


def test_the_simulator_needs_neither_surfaces_nor_zookeeper(imports: list[Import]) -> None:
    expect_none(simulator_outside(imports), "the simulator runs in one thread, without the world")


def test_nothing_that_ships_leans_on_the_simulator(imports: list[Import]) -> None:
    expect_none(simulator_shipped(imports), "remuda.testing is for tests: ours and our users'")


# ── the checker notices ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (upward, "remuda.errors", "import remuda.config"),
        (upward, "remuda.clock", "from remuda import log"),
        (upward, "remuda.log.port", "from remuda.replica.state import Replica"),
        (upward, "remuda.replica.state", "from ..peer import loop"),
        (upward, "remuda.peer.loop", "from remuda import Unit"),
        (upward, "remuda.peer.loop", "import remuda"),
        (upward, "remuda", "from remuda.cli.main import main"),
        (sideways, "remuda.queue.model", "from remuda.workflow import model"),
        (sideways, "remuda.clock", "from remuda.config import Config"),
        (kazoo_elsewhere, "remuda.log.zookeeper", "from kazoo.client import KazooClient"),
        (kazoo_elsewhere, "remuda.testing.run", "import kazoo"),
        (impure, "remuda.replica.state", "import time"),
        (impure, "remuda.ownership.plan", "from random import choice"),
        (impure, "remuda.peer.core", "import os.path as p"),
        (impure, "remuda.replica.state", "from remuda.clock import SystemClock"),
        (zookeeper_in_the_fold, "remuda.replica.state", "from remuda.zookeeper import client"),
        (simulator_outside, "remuda.testing.run", "from remuda.cli import main"),
        (simulator_shipped, "remuda.peer.loop", "from remuda.testing import FakeClock"),
    ],
)
@pytest.mark.parametrize(
    "written",
    [
        pytest.param("{}", id="at the top"),
        pytest.param("def f() -> None:\n    {}", id="in a function"),
        pytest.param("if TYPE_CHECKING:\n    {}", id="for checking"),
    ],
)
def test_the_checker_notices_a_broken_rule_wherever_the_import_stands(
    rule: Rule, module: str, source: str, written: str
) -> None:
    found = rule(parse(written.format(source), module, "src/somewhere.py"))
    assert len(found) == 1
    assert str(found[0]).startswith(f"src/somewhere.py:{1 + written.count(chr(10))}: {module} ")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("remuda.config", "from remuda.errors import BadConfig"),
        ("remuda.log.zookeeper", "from remuda.zookeeper.client import Client"),
        ("remuda.zookeeper.client", "import kazoo.client, time"),
        ("remuda.peer.loop", "import asyncio\nfrom . import core"),
        ("remuda.replica.state", "from __future__ import annotations\nimport msgspec"),
        ("remuda", "from remuda.service import Unit\nfrom remuda import errors"),
        ("remuda.cli.main", "from remuda import Unit\nfrom remuda.api import server"),
        ("remuda.__main__", "from remuda.cli.main import main"),
        ("remuda.testing.run", "import random\nfrom remuda.peer import core"),
    ],
)
def test_the_checker_lets_good_imports_pass(module: str, source: str) -> None:
    found = parse(source, module)
    for rule in RULES:
        assert rule(found) == []


def test_relative_imports_are_resolved_from_the_package() -> None:
    assert [i.target for i in parse("from . import x", "remuda.log", package=True)] == [
        "remuda.log.x"
    ]
    assert [i.target for i in parse("from ..peer.core import x", "remuda.log.port")] == [
        "remuda.peer.core.x"
    ]
