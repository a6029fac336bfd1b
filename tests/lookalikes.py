"""Projects that look alike: one index that holds them all beside one that holds only those of a scope."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from builders import HashEmbedder, index_vault, write_vault
from cutaway.config import load_settings
from cutaway.index import store
from cutaway.index.homes import home as home_named
from cutaway.index.note_tables import NoteTables
from cutaway.index.state import Judgment, Judgments
from cutaway.index.store import open_writer
from cutaway.models.embedder import Vectors
from cutaway.retrieval import tracing

PROJECTS = ("mine", "other", "third")
MARKER = "SECRETxyz"
"""Stands only in projects out of scope, wherever a note has text."""


class Homes(NamedTuple):
    """Two indexes of the same files. Their paths have the same length, so that lines break alike."""

    all: Path
    alone: Path
    vaults: Path


class Failing(HashEmbedder):
    """Has no vector for some texts."""

    def embed(self, texts: list[str], query: bool = False) -> Vectors:  # type: ignore[override]
        vectors = super().embed(texts, query)
        for place, text in enumerate(texts):
            if "UNEMBEDDABLE" in text:
                vectors[place] = np.nan
        return vectors


@contextmanager
def timeless(side_by_side: bool) -> Iterator[None]:
    """Clocks stand still, so that nothing differs by when it was made; ids of the projects may be neighbours."""
    with pytest.MonkeyPatch.context() as patch:
        clock = SimpleNamespace(time=lambda: 1.0, strftime=store.time.strftime, gmtime=store.time.gmtime)
        patch.setattr(store, "time", clock)
        patch.setattr(tracing, "perf_counter", lambda: 0.0)
        if side_by_side:
            patch.setattr(NoteTables, "_free", _beside)
        yield


def _beside(tables: NoteTables, table: str, column: str, name: str) -> int:
    """Ids of different projects differ by one, and a note, a row and a chunk have the same."""
    first = name.split("\0")[0]
    wanted = 3 + (int(first) % 3 if first.isdigit() else PROJECTS.index(first))
    while tables._store.execute(f"SELECT 1 FROM {table} WHERE {column} = ?", (wanted,)).get is not None:
        wanted += 3
    return wanted


def built(folder: Path, scope: Collection[str], config: str = "") -> Homes:
    """The projects on disk and indexed twice, as they lie in a home after some use: notes pending, failed, changed.

    *config* is what stands in either home's config.toml, HOME being its folder and SCHEMA a name of its own.
    """
    homes = Homes(folder / "home_with_every_one", folder / "home_with_only_some", folder / "vaults")
    for home in (homes.all, homes.alone):
        home.mkdir()
        text = config.replace("HOME", str(home)).replace("SCHEMA", home.name)
        (home / "config.toml").write_text(text, encoding="utf-8")
    for name in PROJECTS:
        secret = "" if name in scope else MARKER
        write_vault(homes.vaults / name, {**_shared(), **(_secret() if secret else _own())})
    for home, names in ((homes.all, PROJECTS), (homes.alone, tuple(name for name in PROJECTS if name in scope))):
        for name in names:
            index_vault(home, homes.vaults / name, Failing(), load_settings(home))
    for name in PROJECTS:
        late = f"late {'' if name in scope else MARKER}.md"
        write_vault(homes.vaults / name, {late: f"Bread that waits for its vector {late}"})
    for home, names in ((homes.all, PROJECTS), (homes.alone, tuple(name for name in PROJECTS if name in scope))):
        for name in names:
            index_vault(home, homes.vaults / name, settings=load_settings(home))
            Judgments(home).keep(_judged(name, name in scope))
    for name in PROJECTS:
        mark = "" if name in scope else MARKER
        write_vault(homes.vaults / name, {"changed.md": f"Changed {mark}", f"new {mark}.md": f"New {mark}"})
        (homes.vaults / name / "gone.md").unlink()
    _damage(homes.all, [name for name in PROJECTS if name not in scope])
    return homes


def _damage(home: Path, projects: list[str]) -> None:
    """In these projects, a vector without a ready chunk, a ready chunk without a vector, one of another model."""
    settings = load_settings(home)
    connection, kept = open_writer(home, settings), home_named(settings.vectors).identity
    connection.execute(f"INSERT INTO spaces (embedding, home, dimension) VALUES ('{MARKER}/1', '{kept}', 32)")
    for name in projects:
        for which, state, change in (
            ("min", "ready", "state = 'pending'"),
            ("max", "failed", "state = 'ready', space_id = (SELECT id FROM spaces WHERE embedding = 'hash/32')"),
            ("max", "ready", f"space_id = (SELECT id FROM spaces WHERE embedding = '{MARKER}/1')"),
        ):
            chosen = f"SELECT {which}(c.id) FROM chunks c JOIN projects p ON p.id = project_id WHERE p.name = ?"
            connection.execute(f"UPDATE chunks SET {change} WHERE id = ({chosen} AND state = ?)", (name, state))
    connection.close()


def _shared() -> dict[str, str | bytes]:
    """What every project has, byte for byte."""
    return {
        "kitchen/bread.md": (
            "---\ntitle: Bread\naliases: [Loaf]\npermalink: food/bread\ntags: [food, baking/bread]\nstatus: active\n"
            "rating: 3\n---\n# Bread\n\nBread needs flour, water, salt and time.\n\n## Oven\n\nBake the bread hot.\n\n"
            "- [fact] Bread rises #yeast\n- [tip] Salt last\n- needs [[Rye]]\n- needs [[Nowhere]]\n"
        ),
        "kitchen/rye.md": "# Rye\n\nRye bread is a dense bread.\n\n- [fact] Rye is slow\n",
        "rye copy.md": "# Rye\n\nRye bread is a dense bread.\n\n- [fact] Rye is slow\n",
        "german.md": "# Brot\n\nDas Brot ist gut und das Banding der Kruste ist nicht das, was wir davon kennen.\n",
        "english.md": "# Crust\n\nThe crust of the bread is what we want, and it is not the form that matters to us.\n",
        "broken.md": "---\ntitle: [\n---\nBroken bread.\n",
        "private.md": "---\nindex: false\n---\nPrivate bread.\n",
        "unreadable.md": b"\xff\xfe bread",
        "failed.md": "UNEMBEDDABLE bread.\n",
        "changed.md": "Bread before.\n",
        "gone.md": "Bread that was.\n",
        "empty.md": "",
    }


def _own() -> dict[str, str | bytes]:
    return {"notes/plain.md": "# Plain\n\nPlain bread, and a plan for it.\n"}


def _secret() -> dict[str, str | bytes]:
    """The marker wherever a note has text, more of everything, and languages and word forms found nowhere else."""
    said: dict[str, str | bytes] = {
        f"{MARKER}/{MARKER}.md": (
            f"---\ntitle: Bread {MARKER}\naliases: [Loaf, {MARKER} loaf]\npermalink: food/{MARKER}\n"
            f"tags: [food, {MARKER}]\nstatus: {MARKER}\n{MARKER}: 3\nrating: 5\ntype: {MARKER}\n---\n"
            f"# Bread {MARKER}\n\nBread {MARKER} needs bread.\n\n## Oven {MARKER}\n\nBake {MARKER}.\n\n"
            f"- [{MARKER}] Bread rises {MARKER} #{MARKER}\n- [fact] Bread {MARKER} ({MARKER})\n"
            f"- {MARKER} [[{MARKER} target]]\n- needs [[Bread]]\n\nSee [[{MARKER}]] and [x]({MARKER}.md).\n"
        ),
        f"kitchen/{MARKER}.md": f"# Rye\n\nRye bread is a dense bread {MARKER}.\n",
        f"broken {MARKER}.md": f"---\ntitle: [{MARKER}\n---\nBroken bread {MARKER}.\n",
        f"private {MARKER}.md": f"---\nindex: false\n---\nBread {MARKER}.\n",
        f"unreadable {MARKER}.md": b"\xff\xfe bread",
        f"failed {MARKER}.md": f"UNEMBEDDABLE bread {MARKER}.\n",
        f"french {MARKER}.md": "Le pain est bon, et la farine que nous avons est dans le four pour le soir.\n" * 3,
        "forms.md": f"The banding of the breads is what we want of it, and it is not {MARKER} that matters to us.\n",
    }
    return said | {f"many/{number}.md": f"# Bread\n\nBread {'flour ' * number}{MARKER}.\n" for number in range(12)}


def _judged(project: str, within: bool) -> list[Judgment]:
    held = [Judgment(project, "rye bread", "kitchen/rye.md", 3), Judgment(project, "flour", "kitchen/bread.md", 2)]
    secret = [
        Judgment(project, f"bread {MARKER}", f"kitchen/{MARKER}.md", 3),
        Judgment(project, "rye bread", f"kitchen/{MARKER}.md", 1),
    ]
    return held if within else [*held, *secret]
