"""Settings of one project: alone it is searched by them; among others, by them where all agree, and else it is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import OTHER_VALUES, HashEmbedder, LengthReranker, choose, index_vault, opened, write_vault
from cutaway.config import AT_INDEXING, AT_SEARCH, PER_PROJECT, Settings, for_scope
from cutaway.retrieval.pipeline import search
from cutaway.retrieval.plan import Models, Plan, make_plan
from cutaway.retrieval.request import Request

MODELS = Models(HashEmbedder(), LengthReranker())
QUERY = Request('salt OR dough "old dough" -rye')


@pytest.fixture
def two(home: Path, tmp_path: Path) -> Path:
    """Two projects of one note each."""
    for name in ("garden", "kitchen"):
        index_vault(home, write_vault(tmp_path / name, {f"{name}.md": f"# Salt\n\nOld dough in the {name}."}))
    return home


@pytest.fixture
def alone(home: Path, vault: Path) -> Path:
    """One project."""
    index_vault(home, write_vault(vault, {"a.md": "# Salt\n\nOld dough."}), HashEmbedder())
    return home


def planned(home: Path, base: Settings | None = None, request: Request = QUERY) -> Plan:
    """What a search over every project of *home* decides, where the home's settings are *base*."""
    with opened(home) as reader:
        used = for_scope(base or Settings(), [project.settings for project in reader.scope])
        return make_plan(request, used, reader, MODELS)


def said(home: Path, used: Settings | None = None, request: Request = QUERY) -> list[str]:
    """What the answer says of settings."""
    with opened(home) as reader:
        used = used or for_scope(Settings(), [project.settings for project in reader.scope])
        return [text for stage, text in search(request, used, reader, MODELS).remarks if stage == "settings"]


def test_every_setting_of_a_project_is_tried_here() -> None:
    """So that the laws below hold for all of them."""
    assert set(PER_PROJECT) == OTHER_VALUES.keys()
    assert all(getattr(Settings(), name) != value for name, value in OTHER_VALUES.items())


@pytest.mark.parametrize(("name", "value"), OTHER_VALUES.items())
def test_a_lone_projects_setting_decides_as_the_homes_would(alone: Path, name: str, value: Any) -> None:
    """The plan is the same, to the last field."""
    expected = planned(alone, Settings(**{name: value}))
    choose(alone, "vault", **{name: value})

    assert expected == planned(alone)


@pytest.mark.parametrize("name", sorted({*AT_SEARCH} - {"weights", "weigh"}))
def test_a_setting_that_is_searched_by_changes_the_plan(alone: Path, name: str) -> None:
    """Or the law above would say little."""
    before = planned(alone)
    choose(alone, "vault", **{name: OTHER_VALUES[name]})

    assert before != planned(alone)


@pytest.mark.parametrize("name", AT_SEARCH)
def test_what_all_projects_have_set_is_used(two: Path, name: str) -> None:
    """And nothing need be said."""
    for project in ("garden", "kitchen"):
        choose(two, project, **{name: OTHER_VALUES[name]})

    assert (planned(two, Settings(**{name: OTHER_VALUES[name]})), []) == (planned(two), said(two))


@pytest.mark.parametrize("name", AT_SEARCH)
def test_what_one_project_has_set_is_not_used_for_several_and_that_is_said(two: Path, name: str) -> None:
    """The home's is; the remark names project, setting and value."""
    expected = planned(two)
    choose(two, "kitchen", **{name: OTHER_VALUES[name]})
    (remark,) = said(two)

    assert remark.startswith(f"kitchen: {name} = {OTHER_VALUES[name]} is not used, as not every project")
    assert expected.decided_by == planned(two).decided_by


@pytest.mark.parametrize("name", AT_INDEXING)
def test_how_notes_were_read_is_each_projects_own_and_needs_no_remark(two: Path, name: str) -> None:
    """Passages of several projects are searched together, however each was cut."""
    choose(two, "kitchen", **{name: OTHER_VALUES[name]})

    assert [] == said(two)


def test_what_the_home_has_anyway_is_agreed(two: Path) -> None:
    """One project names it, the other has it from the home."""
    choose(two, "kitchen", k1=2.0)
    with opened(two) as reader:
        used = for_scope(Settings(k1=2.0), [project.settings for project in reader.scope])

    assert (2.0, []) == (used.k1, said(two, used))


def test_other_settings_that_were_asked_for_are_said_to_be(alone: Path) -> None:
    """As in a comparison of two settings."""
    choose(alone, "vault", k1=2.0)

    assert ["vault: k1 = 2.0 is not used, as other settings were asked for; k1 is 1.2"] == said(alone, Settings())


@pytest.mark.parametrize(
    ("stored", "request_"),
    [
        ({"mode": "vector"}, {"mode": "text"}),
        ({"group": "row"}, {"group": "note"}),
        ({"literal": True}, {"literal": False}),
        ({"fusion": "rrf"}, {"fusion": "dismax-0.3"}),
        ({"min_similarity": 0.5}, {"min_similarity": 0.0}),
        ({"rerank": True}, {"rerank": False}),
        ({"rerank_depth": 5}, {"depth": 7}),
    ],
)
def test_the_request_comes_before_the_project(alone: Path, stored: dict[str, Any], request_: dict[str, Any]) -> None:
    """It decides as it would without the project's setting, and what was asked for needs no remark."""
    request = Request(QUERY.text, **request_)
    expected = planned(alone, request=request)
    choose(alone, "vault", **stored)

    assert (expected, []) == (planned(alone, request=request), said(alone, request=request))


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        *(("mode", {"mode": "text"}), ("group", {"group": "note"}), ("literal", {"literal": False})),
        *(("fusion", {"fusion": "dismax-0.3"}), ("min_similarity", {"min_similarity": 0.0})),
        *(("rerank", {"rerank": False}), ("rerank", {"depth": 7}), ("rerank_depth", {"depth": 7})),
    ],
)
def test_what_the_request_decides_needs_no_remark(two: Path, name: str, request_: dict[str, Any]) -> None:
    """Not even where the projects do not agree on it."""
    choose(two, "kitchen", **{name: "vector" if name == "mode" else OTHER_VALUES[name]})

    assert (1, []) == (len(said(two)), said(two, request=Request(QUERY.text, **request_)))


@pytest.mark.parametrize(("first", "second"), [("garden", "kitchen"), ("kitchen", "garden")])
def test_what_is_set_for_one_project_stays_with_it(two: Path, first: str, second: str) -> None:
    """The other is searched as before."""
    choose(two, first, k1=2.0)
    with opened(two) as reader:
        held = {project.name: project.settings for project in reader.scope}

    assert {first: {"k1": 2.0}, second: {}} == held
