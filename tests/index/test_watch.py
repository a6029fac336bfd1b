"""This file is about watching folders: which changes wake a watch, and that none is lost, whatever else happens."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread

import pytest

from builders import index_vault, opened, write_vault
from cutaway.index.changes import changes
from cutaway.index.watch import World, touched, watch
from cutaway.model import Project

# What matters


def woken(vault: Path, *paths: str, held: Sequence[str] = ()) -> bool:
    """Whether changes below a vault wake its project, where the index holds these notes."""
    project = Project(1, "vault", vault)
    below = lambda _, folder: any(note.startswith(f"{folder}/") for note in held)  # noqa: E731
    return {1} == touched(
        [project, Project(2, "other", vault.parent / "other")], [str(vault / p) for p in paths], below
    )


@pytest.mark.parametrize(
    "path",
    ["a.md", "deep/er/A.MARKDOWN", "gone.md", ".gitignore", "deep/.cutawayignore", "folder", "folder.d", "lost", "."],
)
def test_a_change_that_may_concern_a_note_wakes(vault: Path, path: str) -> None:
    """Notes that come, change or go; rules of what to ignore; folders, also one that is gone with notes in it."""
    write_vault(vault, {"a.md": "x", "folder/a.md": "x", "folder.d/a.md": "x", "deep/er/A.MARKDOWN": "x"})

    assert woken(vault, path, held=["lost/a.md"])


@pytest.mark.parametrize(
    "path",
    [".git/a.md", ".obsidian/workspace.json", "x/.hidden/a.md", ".a.md.swp", "a.png", "gone.png", "4913", "loster"],
)
def test_a_change_that_concerns_no_note_does_not(vault: Path, path: str) -> None:
    """Hidden files and folders, other files, what came and went between two looks."""
    write_vault(vault, {".git/a.md": "x", "x/.hidden/a.md": "x", "a.png": "x"})

    assert not woken(vault, path, held=["lost/a.md"])


@pytest.mark.parametrize("path", ["../vault2/a.md", "../a.md", "../other.md"])
def test_a_change_elsewhere_wakes_nobody(vault: Path, path: str) -> None:
    """A folder whose name only begins alike is another folder."""
    assert not woken(vault, str((vault / path).resolve()))


# The story, told by a script


class Script:
    """A world that plays batches of changes and keeps what was ordered."""

    def __init__(self, projects: list[Project], *batches: list[str]) -> None:
        self.listed, self._batches = projects, iter(batches)
        self.ordered: list[list[str]] = []
        self.watched: list[list[Path]] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self._ended = False

    def run(self) -> Script:
        watch(World(lambda: list(self.listed), self._changes, lambda *_: False, self._update, lambda: self._ended))
        return self

    def _changes(self, roots: Sequence[Path]) -> Iterator[list[str]]:
        self.watched.append(list(roots))
        yield from self._batches
        self._ended = True

    def _update(self, projects: Sequence[Project]) -> bool:
        self.ordered.append([project.name for project in projects])
        self.meanwhile()
        return True


@pytest.fixture
def two(tmp_path: Path) -> list[Project]:
    roots = [write_vault(tmp_path / name, {"a.md": name}) for name in ("ant", "bee")]
    return [Project(number, root.name, root) for number, root in enumerate(roots, start=1)]


def test_all_are_updated_first_and_then_who_changed(two: list[Project]) -> None:
    """What happened while nobody watched is found; an empty batch orders nothing."""
    ant, bee = (str(project.root / "a.md") for project in two)

    assert [["ant", "bee"], ["bee"], ["ant"]] == Script(two, [], [], [bee], [], [ant, ant]).run().ordered


def test_an_update_that_was_refused_is_ordered_again_with_what_came_since(two: list[Project]) -> None:
    """A busy index delays a change and loses none."""
    ant, bee = (str(project.root / "a.md") for project in two)

    class Busy(Script):
        def _update(self, projects: Sequence[Project]) -> bool:
            super()._update(projects)
            return len(self.ordered) not in (1, 3, 4)

    assert [["ant", "bee"]] * 2 + [["ant"], ["ant", "bee"], ["ant", "bee"]] == Busy(
        two, [], [], [ant], [bee], [], []
    ).run().ordered


def test_a_folder_that_goes_and_comes_back_is_watched_anew(two: list[Project]) -> None:
    """The other one is watched all the time, and all are updated after each turn."""
    ant, bee = (project.root for project in two)
    script = Script(two, [], [], [])
    moves = iter([lambda: bee.rename(bee.with_name("away")), lambda: bee.with_name("away").rename(bee)])
    script.meanwhile = lambda: next(moves, lambda: None)()
    script.run()

    assert [[ant, bee], [ant], [ant, bee]] == [roots for roots in script.watched if roots][:3]
    assert [["ant", "bee"]] * 3 == script.ordered


def test_projects_that_others_add_and_remove_are_noticed(two: list[Project]) -> None:
    """Watched are those there are now."""
    ant, bee = two
    script = Script([ant], [], [], [])
    steps = iter([[ant, bee], [bee]])
    script.meanwhile = lambda: setattr(script, "listed", next(steps, script.listed))

    assert [["ant"], ["ant", "bee"], ["bee"]] == script.run().ordered


# The file system itself


@pytest.fixture
def real() -> Iterator[Callable[..., list[list[str]]]]:
    """Start a watch over real folders in a thread; gives the list of its updates as it grows."""
    stop, threads = Event(), []

    def start(projects: list[Project], update: Callable[[], object] = lambda: None) -> list[list[str]]:
        ordered: list[list[str]] = []

        def order(due: Sequence[Project]) -> bool:
            update()
            ordered.append([project.name for project in due])
            return True

        told = lambda roots: changes(roots, stop, pytest.fail)  # noqa: E731
        world = World(lambda: projects, told, lambda *_: False, order, stop.is_set)
        threads.append(Thread(target=watch, args=(world,), daemon=True))
        threads[-1].start()
        until(lambda: ordered)
        return ordered

    yield start
    stop.set()
    for thread in threads:
        thread.join(30)


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait for a condition; fail where it never comes."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "what was waited for never came"
        time.sleep(0.02)


def test_an_atomic_save_is_one_update(real: Callable[..., list[list[str]]], two: list[Project]) -> None:
    """A temporary file, renamed over the note."""
    ordered = real(two)
    (two[1].root / ".a.md.tmp").write_text("new", encoding="utf-8")
    (two[1].root / ".a.md.tmp").replace(two[1].root / "a.md")
    until(lambda: len(ordered) == 2)
    (two[0].root / "a.md").write_text("last", encoding="utf-8")
    until(lambda: len(ordered) == 3)

    assert [["ant", "bee"], ["bee"], ["ant"]] == ordered


@pytest.mark.parametrize("polling", ["", "1"], ids=["told by the system", "polling"])
@pytest.mark.parametrize("place", [".", "index", "deep/er"])
def test_an_index_inside_the_vault_does_not_wake_its_own_watch(
    real: Callable[..., list[list[str]]], vault: Path, place: str, polling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files change with each update, and are none of its business."""
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", polling)
    monkeypatch.setenv("WATCHFILES_POLL_DELAY_MS", "200")
    write_vault(vault, {"a.md": "x"})
    index_vault(vault / place, vault)
    turns: list[None] = []
    ordered = real(_Counted([Project(1, "vault", vault)], turns), lambda: index_vault(vault / place, vault))
    (vault / "a.md").write_text("changed", encoding="utf-8")
    os.utime(vault / "a.md", (2_000_000_000, 2_000_000_000))  # polling does not see a change in the same second
    until(lambda: len(ordered) > 1)
    seen = len(turns)
    until(lambda: len(turns) > seen + 5)

    assert 2 == len(ordered)
    with opened(vault / place) as reader:
        assert ["a.md"] == list(reader.known(reader.scope[0]))


class _Counted(list[Project]):
    """Projects that count how often they were asked for."""

    def __init__(self, projects: list[Project], turns: list[None]) -> None:
        super().__init__(projects)
        self._turns = turns

    def __iter__(self) -> Iterator[Project]:
        self._turns.append(None)
        return super().__iter__()


def test_a_folder_replaced_by_another_of_its_name_is_watched(
    real: Callable[..., list[list[str]]], two: list[Project]
) -> None:
    """Even where it was gone too briefly to be missed."""
    ordered, root = real(two), two[0].root
    shutil.rmtree(root)
    write_vault(root, {"a.md": "another"})
    until(lambda: ["ant", "bee"] in ordered[1:])
    before = len(ordered)
    write_vault(root, {"b.md": "one more"})
    until(lambda: len(ordered) > before)

    assert "ant" in ordered[-1]


def test_all_is_looked_at_anew_now_and_then(
    real: Callable[..., list[list[str]]], two: list[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No system tells of every change, so none is trusted for long."""
    monkeypatch.setattr("cutaway.index.changes._TRUST_SECONDS", 0)
    ordered = real(two)
    until(lambda: len(ordered) > 2)

    assert [["ant", "bee"]] * 3 == ordered[:3]


@pytest.mark.parametrize("failure", [OSError("OS file watch limit reached"), PermissionError("no")])
def test_where_the_system_cannot_watch_the_folders_are_looked_through(
    vault: Path, monkeypatch: pytest.MonkeyPatch, failure: OSError
) -> None:
    """It is said, and changes are found all the same."""
    import watchfiles

    original, stop, said = watchfiles.watch, Event(), []

    def refusing(*roots: Path, **options: object) -> Iterator[object]:
        if not options["force_polling"]:
            raise failure
        return original(*roots, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(watchfiles, "watch", refusing)
    monkeypatch.setenv("WATCHFILES_POLL_DELAY_MS", "100")
    batches = changes([vault], stop, said.append)
    next(batches)
    write_vault(vault, {"new.md": "x"})

    assert any(str(vault / "new.md") in batch for batch in batches)
    assert 1 == len(said)


def test_a_folder_whose_time_changes_is_not_told(vault: Path) -> None:
    """It changes with any file in it, which is told by itself."""
    write_vault(vault, {"deep/a.png": "x"})
    told: set[str] = set()
    batches = changes([vault], Event(), pytest.fail)
    next(batches)
    os.utime(vault / "deep", (2_000_000_000, 2_000_000_000))
    write_vault(vault, {"deep/a.png": "y"})
    while str(vault / "deep" / "a.png") not in told:
        told.update(next(batches))

    assert str(vault / "deep") not in told
