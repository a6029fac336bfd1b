"""`cutaway watch` as a process: it follows real folders, says what happens, survives what fails, and stops cleanly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import builders
from builders import Cutaway, ask, manifest, opened, paths, write_vault
from cutaway.config import Settings
from cutaway.faces.cli.watch import Telling, Watching
from cutaway.index.sqlite import alone_in

pytestmark = pytest.mark.slow

CHILD = """
import sys
from builders import HashEmbedder
from cutaway.errors import ModelUnavailable
from cutaway.faces import indexing
from cutaway.faces.cli.main import main

class Failing(HashEmbedder):
    def embed(self, texts, query=False):
        raise ModelUnavailable("the model is broken")

def missing():
    raise ModelUnavailable("no model is installed.")

models = {"sound": HashEmbedder, "failing": Failing, "missing": missing}
indexing.named_embedder = lambda *_, **__: models[sys.argv[1]]()
sys.exit(main(["watch", *sys.argv[2:]]))
"""


def until(condition: Callable[[], Any], seconds: float = 60) -> None:
    """Wait for a condition; fail where it never comes."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "what was waited for never came"
        time.sleep(0.05)


class Watch:
    """A running `cutaway watch`, and the lines it has written so far."""

    def __init__(self, home: Path, *options: str, model: str = "sound") -> None:
        path = os.pathsep.join([str(Path(builders.__file__).parent), *sys.path])
        environment = {**os.environ, "PYTHONPATH": path, "CUTAWAY_HOME": str(home)}
        command = [sys.executable, "-c", CHILD, model, *options]
        self.lines: list[str] = []
        self.child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self.lines.append(line)

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in map(json.loads, self.lines) if event["event"] == kind]

    def sees(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait for so many events of a kind."""
        until(lambda: len(self.events(kind)) >= count or self.child.poll() is not None)
        assert len(self.events(kind)) >= count, "".join(self.lines)
        return self.events(kind)

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        self.child.send_signal(how)
        code = self.child.wait(60)
        self._reader.join(60)
        return code


@pytest.fixture
def watching(two: Path, home: Path) -> Iterator[Callable[..., Watch]]:  # noqa: ARG001
    """Start watches that are stopped with the test."""
    started: list[Watch] = []

    def start(*options: str, model: str = "sound") -> Watch:
        started.append(Watch(home, *options, model=model))
        return started[-1]

    yield start
    for watch in started:
        watch.child.kill()
        watch.child.wait(60)
        assert watch.child.stdout is not None
        watch._reader.join(60)
        watch.child.stdout.close()


@pytest.fixture
def two(cutaway: Cutaway, tmp_path: Path) -> Path:
    """Two indexed projects, `ant` and `bee`, below one folder."""
    for name in ("ant", "bee"):
        notes = {"a.md": f"basil {name}", "deep/b.md": f"thyme {name}"}
        assert 0 == cutaway("index", str(write_vault(tmp_path / name, notes))).code
    return tmp_path


def held(home: Path, project: str) -> set[str]:
    """The paths that the index holds of a project."""
    with opened(home) as reader:
        return {path for found in reader.scope if found.name == project for path in reader.known(found)}


def test_what_happened_before_is_found_and_then_every_change(
    watching: Callable[..., Watch], two: Path, home: Path
) -> None:
    """Edits made while nobody watched, then a new note, a moved folder, a removed one, and a rule."""
    write_vault(two / "ant", {"before.md": "sage"})
    watch = watching("--json")
    assert ["ant", "bee"] == watch.sees("watching")[0]["projects"]
    assert [("ant", 1, "before.md")] == [(e["project"], e["added"], e["path"]) for e in watch.events("updated")]

    bee = two / "bee"
    write_vault(two, {"new.md": "mint"})
    (two / "new.md").rename(
        bee / "new.md"
    )  # at once: a note just opened for writing would be found empty, then changed
    until(lambda: held(home, "bee") == {"a.md", "deep/b.md", "new.md"})
    (bee / "deep").rename(two / "outside")
    until(lambda: held(home, "bee") == {"a.md", "new.md"})
    (two / "outside").rename(bee / "inside")
    until(lambda: held(home, "bee") == {"a.md", "new.md", "inside/b.md"})
    write_vault(bee, {".cutawayignore": "inside/\n"})
    until(lambda: held(home, "bee") == {"a.md", "new.md"})

    assert 0 == watch.stop()
    assert ["bee"] * 4 == [event["project"] for event in watch.events("updated")[1:]]


def test_a_note_that_is_saved_over_and_over_is_always_found(
    watching: Callable[..., Watch], two: Path, home: Path
) -> None:
    """Each save is a new file renamed over the old one; every search between finds the note, old or new."""
    watch, note = watching("--json"), two / "ant" / "a.md"
    watch.sees("watching")
    seen = []

    def found(number: int) -> bool:
        seen.append(set(paths(ask(home, "ant", mode="text"))))
        return bool(paths(ask(home, f"version{number}", mode="text")))

    for number in range(8):
        (note.parent / "a.md.tmp").write_text(f"basil ant version{number}", encoding="utf-8")
        (note.parent / "a.md.tmp").replace(note)
        until(lambda: found(number))  # noqa: B023

    assert all({"a.md", "deep/b.md"} == every for every in seen)
    assert {(0, 1, 0)} == {(e["added"], e["changed"], e["removed"]) for e in watch.events("updated")}


def remove(root: Path) -> None:
    root.rename(root.with_name("away"))


def replace(root: Path) -> None:
    remove(root)
    root.write_text("a file", encoding="utf-8")


def empty(root: Path) -> None:
    root.with_name("away").mkdir()
    for entry in root.iterdir():
        entry.rename(root.with_name("away") / entry.name)


def bring_back(root: Path) -> None:
    if root.is_dir():
        for entry in root.with_name("away").iterdir():
            entry.rename(root / entry.name)
    else:
        root.unlink(missing_ok=True)
        root.with_name("away").rename(root)


@pytest.mark.parametrize("fail", [remove, replace, empty])
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_folder_that_fails_is_said_once_kept_and_watched_when_it_is_back(
    watching: Callable[..., Watch], two: Path, home: Path, fail: Callable[[Path], None], when: str
) -> None:
    """The other project is followed all the while, and nothing of this one leaves the index."""
    if when == "before":
        fail(two / "ant")
    watch = watching("--json")
    watch.sees("watching")
    if when == "meanwhile":
        with alone_in(home):  # so that no update falls between two steps of the failing
            fail(two / "ant")
    assert "ant" == watch.sees("error")[0]["project"]
    write_vault(two / "bee", {"new.md": "mint"})
    until(lambda: "new.md" in held(home, "bee"))
    assert {"a.md", "deep/b.md"} == held(home, "ant")

    bring_back(two / "ant")
    until(lambda: any(event["project"] == "ant" for event in watch.events("updated")))
    write_vault(two / "ant", {"after.md": "rue"})
    until(lambda: held(home, "ant") == {"a.md", "deep/b.md", "after.md"})
    assert 1 == len(watch.events("error"))


def test_while_somebody_else_writes_changes_wait_and_none_is_lost(
    watching: Callable[..., Watch], two: Path, home: Path
) -> None:
    """It is said once, and the lock is free for others between updates."""
    watch = watching("--json")
    watch.sees("watching")
    with alone_in(home):
        write_vault(two / "ant", {"one.md": "mint"})
        watch.sees("notice")
        write_vault(two / "bee", {"two.md": "rue"})
        before = held(home, "ant")
    until(lambda: "one.md" in held(home, "ant") and "two.md" in held(home, "bee"))

    assert {"a.md", "deep/b.md"} == before
    assert 1 == len(watch.events("notice"))


def test_projects_that_come_and_go_are_noticed(
    watching: Callable[..., Watch], cutaway: Cutaway, two: Path, home: Path
) -> None:
    """Added and removed by other commands while it watches."""
    watch = watching("--json")
    watch.sees("watching")
    until(lambda: 0 == cutaway("project", "add", "cat", str(write_vault(two / "cat", {"c.md": "mint"}))).code)
    until(lambda: held(home, "cat") == {"c.md"})
    until(lambda: 0 == cutaway("project", "remove", "ant").code)
    watch.sees("watching", 3)

    assert [["ant", "bee"], ["ant", "bee", "cat"], ["bee", "cat"]] == [e["projects"] for e in watch.events("watching")]


def test_a_project_that_was_removed_just_now_is_not_indexed_again(cutaway: Cutaway, two: Path, home: Path) -> None:
    """What was listed a moment ago is checked again once nobody else can write."""
    options = Namespace(home=home, project=[], no_embed=True)
    watch = Watching(options, Settings(embedder="none"), Event(), Telling(as_json=True))
    listed = watch.projects()
    cutaway("project", "remove", "ant")
    write_vault(two / "bee", {"new.md": "mint"})

    assert watch.update(listed)
    assert ["a.md", "deep/b.md", "new.md"] == [row[0] for row in manifest(home)]


def test_only_the_named_project_is_watched(watching: Callable[..., Watch], two: Path, home: Path) -> None:
    """Others stay as they are."""
    watch = watching("--json", "--project", "bee")
    assert ["bee"] == watch.sees("watching")[0]["projects"]
    for name in ("ant", "bee"):
        write_vault(two / name, {"new.md": "mint"})
    until(lambda: "new.md" in held(home, "bee"))

    assert 0 == watch.stop()
    assert "new.md" not in held(home, "ant")


def test_a_note_that_cannot_be_read_is_said_and_the_others_go_on(
    watching: Callable[..., Watch], two: Path, home: Path
) -> None:
    """Said once, not at every update."""
    watch = watching("--json")
    watch.sees("watching")
    write_vault(two / "ant", {"bad.md": b"\xff"})
    (problem,) = watch.sees("problems")[0]["problems"]
    write_vault(two / "ant", {"good.md": "mint"})
    until(lambda: "good.md" in held(home, "ant"))

    assert 0 == watch.stop()
    assert ("bad.md", 1) == (problem["path"], len(watch.events("problems")))


@pytest.mark.parametrize(("model", "said"), [("missing", "no model is installed"), ("failing", "the model is broken")])
def test_without_a_model_words_are_indexed_and_it_is_said(
    watching: Callable[..., Watch], two: Path, home: Path, model: str, said: str
) -> None:
    """Once, however many updates follow."""
    write_vault(two / "ant", {"a.md": "mint at last"})
    watch = watching("--json", model=model)
    watch.sees("watching")
    for name in ("one.md", "two.md"):
        write_vault(two / "ant", {name: f"rue in {name}"})
        until(lambda: name in held(home, "ant"))  # noqa: B023
    assert 0 == watch.stop()

    assert 1 == sum(said in line for line in watch.lines)
    assert "a.md" in paths(ask(home, "mint", mode="text"))


def test_what_changed_is_embedded_unless_that_was_declined(watching: Callable[..., Watch], two: Path) -> None:
    """`--no-embed` leaves passages waiting; the next watch embeds them."""
    watch = watching("--json", "--no-embed")
    watch.sees("watching")
    write_vault(two / "ant", {"new.md": "mint"})
    watch.sees("updated")
    assert (0, []) == (watch.stop(), watch.events("embedded"))

    (event,) = watching("--json").sees("embedded")
    assert (1, 0, 0) == (event["embedded"], event["failed"], event["pending"])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_it_stops_cleanly(watching: Callable[..., Watch], cutaway: Cutaway, how: signal.Signals) -> None:
    """Exit code 0, one last line, and an index without fault."""
    watch = watching("--json")
    watch.sees("watching")

    assert 0 == watch.stop(how)
    assert ("stopped", 1) == (json.loads(watch.lines[-1])["event"], len(watch.events("stopped")))
    assert 0 == cutaway("doctor", "--all-projects").code


def test_a_watch_that_was_killed_lost_nothing(watching: Callable[..., Watch], cutaway: Cutaway, two: Path) -> None:
    """The index is sound, free for others, and the next watch goes on."""
    watch = watching("--json")
    watch.sees("watching")
    write_vault(two / "ant", {f"{number}.md": f"mint {number}" for number in range(50)})
    watch.stop(signal.SIGKILL)
    assert 0 == cutaway("doctor", "--all-projects").code

    watching("--json").sees("watching")
    assert 50 == json.loads(cutaway("search", "mint", "--mode", "text", "-p", "ant", "--json").out)["total"]


def test_a_person_reads_one_quiet_line_per_update(watching: Callable[..., Watch], two: Path) -> None:
    """The time, the project, and the path where it is one."""
    watch = watching()
    until(lambda: watch.lines)
    write_vault(two / "bee", {"new.md": "mint"})
    until(lambda: len(watch.lines) > 1)
    assert 0 == watch.stop()
    assert ["watching ant, bee. Ctrl-C stops", "bee  new.md added"] == [line[10:-1] for line in watch.lines[:2]]
    assert "stopped; what was done is kept" == watch.lines[-1][10:-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [(("--project", "nobody"), "no project is called 'nobody'"), (("--home", "no/where"), "cutaway index FOLDER")],
)
def test_what_cannot_be_watched_is_refused(cutaway: Cutaway, two: Path, options: tuple[str, ...], said: str) -> None:  # noqa: ARG001
    """Exit code 2, with the way out."""
    ran = cutaway("watch", *options)

    assert (2, True) == (ran.code, said in ran.err)
