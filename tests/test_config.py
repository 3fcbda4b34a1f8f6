"""The table of options: where values come from, what is refused, and what is made of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from remuda.cli.main import app as remuda
from remuda.cli.options import CLUSTER, PEER, configured
from remuda.cli.options_doc import options_markdown
from remuda.config import ENVIRONMENT_PREFIX, OPTIONS, Config, Option, load
from remuda.errors import BadConfig

DOCS = Path(__file__).parents[1] / "docs"

each_option = pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "remuda.toml"


def refusal(
    flags: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
    file: Path | None = None,
) -> str:
    with pytest.raises(BadConfig) as raised:
        load(flags, environment, file)
    message = str(raised.value)
    assert "\n" not in message
    assert raised.value.exit_code == 2
    return message


# ── where a value comes from ─────────────────────────────────────────────────────────────────


def test_what_is_not_given_has_its_default() -> None:
    assert load() == Config()
    assert load({}, {}, None) == Config()


def test_a_flag_goes_before_the_environment_before_the_file_before_the_default(file: Path) -> None:
    file.write_text("session_timeout = 3")
    environment = {"REMUDA_SESSION_TIMEOUT": "2"}
    assert load().session_timeout_s == 6
    assert load(file=file).session_timeout_s == 3
    assert load({}, environment, file).session_timeout_s == 2
    assert load({"session_timeout": "1"}, environment, file).session_timeout_s == 1


def test_each_option_is_taken_from_where_it_is_given(file: Path) -> None:
    file.write_text('data = "/there"\ngc_entries = 7')
    config = load({"join_timeout": "9"}, {"REMUDA_DATA": "/here"}, file)
    assert config == Config(data="/here", gc_entries=7, join_timeout_s=9.0)


def test_a_flag_that_is_not_given_leaves_the_value_to_others() -> None:
    environment = {"REMUDA_SESSION_TIMEOUT": "2"}
    assert load({"session_timeout": None}, environment).session_timeout_s == 2


def test_a_flag_can_take_back_what_the_environment_switches_on() -> None:
    environment = {"REMUDA_CHECK_INVARIANTS": "true"}
    assert load({}, environment).check_invariants
    assert not load({"check_invariants": False}, environment).check_invariants


def test_variables_of_other_programs_are_none_of_ours() -> None:
    assert load({}, {"SESSION_TIMEOUT": "soon", "DATA": "", "PATH": "/bin"}) == Config()


def sample(option: Option) -> tuple[Any, str]:
    """A value that the option does not have by default, as the file spells it and as text."""
    if option.type is bool:
        return not option.default, str(not option.default).lower()
    if {int, float} & {option.type, *get_args(option.type)}:
        return 42, "42"
    return "somewhere", "somewhere"


@each_option
def test_every_option_can_be_given_in_all_three_ways(option: Option, file: Path) -> None:
    value, text = sample(option)
    file.write_text(f"{option.name} = {text}" if text != value else f'{option.name} = "{text}"')
    for config in (
        load({option.name: text}),
        load({}, {option.variable: text}),
        load(file=file),
    ):
        assert getattr(config, option.field) == value
        assert type(getattr(config, option.field)) in {option.type, *get_args(option.type)}


# ── names ────────────────────────────────────────────────────────────────────────────────────


def test_users_write_names_without_units() -> None:
    option = OPTIONS["session_timeout"]
    assert option.field == "session_timeout_s"
    assert option.flag == "--session-timeout"
    assert option.variable == "REMUDA_SESSION_TIMEOUT"


@each_option
def test_a_unit_is_the_last_word_of_its_field_and_of_no_name(option: Option) -> None:
    if option.unit:
        assert option.field == f"{option.name}_{option.unit}"
    else:
        assert option.field == option.name
    assert OPTIONS[option.name] is option


@each_option
def test_every_option_is_documented_by_a_sentence_and_says_since_when_it_is_there(
    option: Option,
) -> None:
    assert option.doc.endswith(".")
    assert option.doc[0].isupper()
    assert option.since


# ── refusals ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("session_timeout", "soon", "Expected `float`"),
        ("session_timeout", "0", "> 0"),
        ("session_timeout", "-1", "> 0"),
        ("session_timeout", "nan", "> 0"),
        ("gc_entries", "0", ">= 1"),
        ("gc_entries", "1.5", "Expected `int`"),
        ("gc_entries", "", "Expected `int`"),
        ("zookeeper_port", "http", "Expected `int"),
        ("zookeeper_tls", "perhaps", "Expected `bool`"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_name_and_where_it_came_from(
    name: str, value: str, why: str, file: Path
) -> None:
    option = OPTIONS[name]
    file.write_text(f'{name} = "{value}"')
    for message, where in (
        (refusal({name: value}), f"after {option.flag}"),
        (refusal({}, {option.variable: value}), f"in ${option.variable}"),
        (refusal(file=file), f"in {file}"),
    ):
        assert message.startswith(f"{name} cannot be `{value}` ({where}): ")
        assert why in message


@pytest.mark.parametrize(
    "line", ["data = 3", "session_timeout = true", "gc_entries = 2.5", "zookeeper = ['a:1']"]
)
def test_a_value_of_another_type_in_the_file_is_refused(line: str, file: Path) -> None:
    file.write_text(line)
    message = refusal(file=file)
    assert message.startswith(f"{line.split()[0]} cannot be ")
    assert f"(in {file})" in message


def test_a_value_that_is_overruled_is_not_looked_at(file: Path) -> None:
    file.write_text('session_timeout = "soon"')
    assert load({"session_timeout": "1"}, {}, file).session_timeout_s == 1


@pytest.mark.parametrize("name", ["sesion_timeout", "session_timeout_s", "session-timeout"])
def test_a_key_that_is_no_option_is_refused_with_those_that_are(name: str, file: Path) -> None:
    file.write_text(f"{name} = 3")
    message = refusal(file=file)
    assert f"`{name}` in {file} is not an option" in message
    assert all(option in message for option in OPTIONS)


@pytest.mark.parametrize("there", [False, True], ids=["missing", "a directory"])
def test_a_file_that_cannot_be_read_is_refused(there: bool, file: Path) -> None:
    if there:
        file.mkdir()
    message = refusal(file=file)
    assert message.startswith(f"cannot read the configuration {file}: ")


@pytest.mark.parametrize("text", ["session_timeout", "session_timeout = 6 s", "[", "\0"])
def test_a_file_that_is_not_toml_is_refused(text: str, file: Path) -> None:
    file.write_text(text)
    assert refusal(file=file).startswith(f"the configuration {file} is not TOML: ")


# ── flags ────────────────────────────────────────────────────────────────────────────────────

verbs = typer.Typer()


@verbs.command()
@configured("session_timeout", "check_invariants")
def show(config: Config) -> None:
    print(f"{config.session_timeout_s:g} {config.check_invariants}")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty directory to be in, and nothing of ours in the environment."""
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith(ENVIRONMENT_PREFIX)]:
        monkeypatch.delenv(variable)
    return tmp_path


def shown(*words: str, **environment: str) -> str:
    result = CliRunner().invoke(verbs, words, env=environment)
    assert result.exception is None, result.exception
    return result.stdout.strip()


def test_a_verb_reads_flags_the_environment_and_the_file(elsewhere: Path) -> None:
    assert shown() == "6 False"
    (elsewhere / "other.toml").write_text("session_timeout = 3\ncheck_invariants = true")
    assert shown("--config", "other.toml") == "3 True"
    assert shown("--config", "other.toml", REMUDA_SESSION_TIMEOUT="2") == "2 True"
    flags = ("--session-timeout", "1", "--no-check-invariants")
    assert shown("--config", "other.toml", *flags, REMUDA_SESSION_TIMEOUT="2") == "1 False"


def test_the_file_is_the_one_that_is_named_or_else_the_one_that_is_here(elsewhere: Path) -> None:
    (elsewhere / "remuda.toml").write_text("session_timeout = 1")
    (elsewhere / "second.toml").write_text("session_timeout = 2")
    (elsewhere / "third.toml").write_text("session_timeout = 3")
    assert shown() == "1 False"
    assert shown(REMUDA_CONFIG="second.toml") == "2 False"
    assert shown("--config", "third.toml", REMUDA_CONFIG="second.toml") == "3 False"


def test_a_file_that_is_named_must_be_there(elsewhere: Path) -> None:
    result = CliRunner().invoke(verbs, ["--config", "none.toml"])
    assert isinstance(result.exception, BadConfig)
    assert "none.toml" in str(result.exception)


def flags_of(command: object) -> Iterator[str]:
    """Every flag of a verb and of those below it."""
    if isinstance(command, TyperGroup):
        for below in command.commands.values():
            yield from flags_of(below)
    for parameter in getattr(command, "params", ()):
        yield from parameter.opts


def test_the_flags_that_verbs_share_are_options() -> None:
    assert set(CLUSTER) <= set(PEER) <= set(OPTIONS)


@each_option
def test_every_option_is_a_flag_of_some_verb(option: Option) -> None:
    assert option.flag in set(flags_of(get_command(remuda)))


# ── the reference ────────────────────────────────────────────────────────────────────────────


def test_the_reference_is_the_table() -> None:
    fix = "run: .venv/bin/python -m remuda.cli.options_doc > docs/options.md"
    assert (DOCS / "options.md").read_text() == options_markdown(), fix


@each_option
def test_the_reference_has_every_option_with_its_flag_and_its_variable(option: Option) -> None:
    _, _, after = options_markdown().partition(f"\n## {option.name}\n")
    section = after.partition("\n## ")[0]
    for part in (option.doc, f"`{option.flag}`", f"`{option.variable}`", option.since):
        assert part in section
