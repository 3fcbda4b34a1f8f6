"""A directory appears whole and once, wherever a crash cuts publishing off."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.pipeline.io.port import BadOutput, NothingStaged, Target
from remuda.pipeline.io.sealed import Place
from remuda.pipeline.run import Fenced
from tests.pipeline.io.targets import hidden_beside, lines_below, run_in, sink


def place(
    folder: Path, *, fence: int = 1, epoch: int | None = None, job: str = "j", mode: str = ""
) -> Place:
    options = {"path": str(folder / "out"), **({"mode": mode} if mode else {})}
    return Place(Target(run_in(folder, job, fence), sink("json", **options), epoch))


def stage(at: Place, *lines: str) -> None:
    write(at, *lines)
    at.finish(len(lines))


def write(at: Place, *lines: str) -> None:
    folder = Path(at.begin())
    folder.mkdir()
    for number, line in enumerate(lines):
        (folder / f"part-{number}").write_text(line + "\n")


def test_nothing_is_visible_before_it_is_published(tmp_path: Path) -> None:
    at = place(tmp_path)
    stage(at, "a", "b")
    assert not (tmp_path / "out").exists()
    assert at.publish() == 2
    assert lines_below(tmp_path / "out") == ["a", "b"]
    assert hidden_beside(tmp_path / "out") == []


def test_publishing_again_changes_nothing(tmp_path: Path) -> None:
    stage(place(tmp_path), "a")
    place(tmp_path).publish()
    before = (tmp_path / "out").stat().st_mtime_ns
    assert place(tmp_path, fence=2).publish() == 1
    assert (tmp_path / "out").stat().st_mtime_ns == before


def test_what_was_half_written_is_never_published_and_goes_with_the_next_attempt(
    tmp_path: Path,
) -> None:
    write(place(tmp_path), "half")
    with pytest.raises(NothingStaged, match="output out of job j: nothing of it is staged"):
        place(tmp_path, fence=2).publish()
    stage(place(tmp_path, fence=2), "a", "b")
    assert place(tmp_path, fence=2).publish() == 2
    assert lines_below(tmp_path / "out") == ["a", "b"]
    assert hidden_beside(tmp_path / "out") == []


def test_the_next_driver_publishes_what_the_last_one_has_staged(tmp_path: Path) -> None:
    stage(place(tmp_path, fence=1), "a")
    assert place(tmp_path, fence=5).publish() == 1
    assert lines_below(tmp_path / "out") == ["a"]


def test_a_driver_that_was_overtaken_publishes_nothing_and_touches_nothing_of_its_successor(
    tmp_path: Path,
) -> None:
    old = place(tmp_path, fence=1)
    stage(old, "a")
    new = place(tmp_path, fence=2)
    write(new, "a")
    stage_of_old = Path(old.begin())
    stage_of_old.mkdir()
    old.finish(0)
    with pytest.raises(Fenced):
        old.publish()
    new.finish(1)
    assert new.publish() == 1
    assert lines_below(tmp_path / "out") == ["a"]


def test_a_driver_that_sleeps_after_its_fence_check_finds_it_done(tmp_path: Path) -> None:
    old = place(tmp_path, fence=1)
    stage(old, "a")
    staged = old._newest_staged()
    new = place(tmp_path, fence=2)
    stage(new, "a")
    new.publish()
    old._expose(staged)
    assert lines_below(tmp_path / "out") == ["a"]


def test_a_target_with_content_of_others_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(BadOutput, match=r"has content already: name another `path`, or set"):
        place(tmp_path).begin()
    assert lines_below(tmp_path / "out") == ["mine"]


def test_an_empty_directory_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    stage(place(tmp_path), "a")
    assert place(tmp_path).publish() == 1


def test_the_output_of_another_job_is_refused_by_name(tmp_path: Path) -> None:
    stage(place(tmp_path, job="first"), "a")
    place(tmp_path, job="first").publish()
    with pytest.raises(BadOutput, match="has content already, of job first"):
        place(tmp_path, job="second").begin()


# ── overwriting ──────────────────────────────────────────────────────────────────────────────


def overwriting(folder: Path, fence: int = 1) -> Place:
    """The new rows staged, over a directory of somebody's."""
    (folder / "out").mkdir()
    (folder / "out" / "part-0").write_text("old\n")
    at = place(folder, fence=fence, mode="overwrite")
    stage(at, "new")
    return at


def test_overwriting_replaces_the_whole(tmp_path: Path) -> None:
    assert overwriting(tmp_path).publish() == 1
    assert lines_below(tmp_path / "out") == ["new"]
    assert hidden_beside(tmp_path / "out") == []


def test_cut_off_with_the_old_one_aside_publishing_again_moves_the_new_one_in(
    tmp_path: Path,
) -> None:
    at = overwriting(tmp_path)
    at.storage.move(at.final, at.replaced)
    assert place(tmp_path, fence=2, mode="overwrite").publish() == 1
    assert lines_below(tmp_path / "out") == ["new"]
    assert hidden_beside(tmp_path / "out") == []


def test_cut_off_with_the_old_one_aside_discarding_moves_it_back(tmp_path: Path) -> None:
    at = overwriting(tmp_path)
    at.storage.move(at.final, at.replaced)
    place(tmp_path, fence=2, mode="overwrite").discard()
    assert lines_below(tmp_path / "out") == ["old"]
    assert hidden_beside(tmp_path / "out") == []


def test_cut_off_with_the_old_one_aside_staging_anew_moves_it_back(tmp_path: Path) -> None:
    at = overwriting(tmp_path)
    at.storage.move(at.final, at.replaced)
    stage(place(tmp_path, fence=2, mode="overwrite"), "newer")
    assert lines_below(tmp_path / "out") == ["old"]
    place(tmp_path, fence=2, mode="overwrite").publish()
    assert lines_below(tmp_path / "out") == ["newer"]


def test_cut_off_before_the_old_one_is_removed_publishing_again_removes_it(tmp_path: Path) -> None:
    at = overwriting(tmp_path)
    at.storage.move(at.final, at.replaced)
    at.storage.move(at.staged, at.final)
    assert place(tmp_path, fence=2, mode="overwrite").publish() == 1
    assert lines_below(tmp_path / "out") == ["new"]
    assert hidden_beside(tmp_path / "out") == []


def test_if_the_new_one_is_gone_the_old_one_comes_back(tmp_path: Path) -> None:
    at = overwriting(tmp_path)
    at.storage.remove(at.staged)
    with pytest.raises(FileNotFoundError):
        at._overwrite(at.staged)
    assert lines_below(tmp_path / "out") == ["old"]


# ── streams ──────────────────────────────────────────────────────────────────────────────────


def test_an_epoch_is_a_directory_and_is_left_as_it_is(tmp_path: Path) -> None:
    for epoch in (0, 1):
        stage(place(tmp_path, epoch=epoch), f"e{epoch}")
        place(tmp_path, epoch=epoch).publish()
    stage(place(tmp_path, fence=2, epoch=1), "again")
    assert place(tmp_path, fence=2, epoch=1).publish() == 1
    assert lines_below(tmp_path / "out") == ["e0", "e1"]
    assert sorted(p.name for p in (tmp_path / "out").glob("epoch=*")) == ["epoch=0", "epoch=1"]
    assert hidden_beside(tmp_path / "out") == []


def test_a_stream_cut_off_before_its_first_epoch_is_visible_goes_on(tmp_path: Path) -> None:
    at = place(tmp_path, epoch=0)
    stage(at, "a")
    at._own_the_root()
    assert place(tmp_path, fence=2, epoch=0).publish() == 1
    assert lines_below(tmp_path / "out") == ["a"]


def test_a_stream_adds_to_nobody_elses_directory(tmp_path: Path) -> None:
    stage(place(tmp_path, job="first", epoch=0), "a")
    place(tmp_path, job="first", epoch=0).publish()
    with pytest.raises(BadOutput, match="of job first: name a `path` of its own"):
        place(tmp_path, job="second", epoch=0).begin()


def test_names_that_are_no_file_names_are_kept_apart(tmp_path: Path) -> None:
    first = place(tmp_path, job="a/b+c")
    second = place(tmp_path, job="a/b")
    assert Path(first.staged).parent == Path(second.staged).parent == tmp_path
    assert first.staged != second.staged
    long = place(tmp_path, job="j" * 500)
    stage(long, "a")
    assert long.publish() == 1
