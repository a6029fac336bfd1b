"""`cutaway project set`, `show` and `trust`: what one project has for itself, and what its folder may ask for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import OTHER_VALUES, Cutaway, write_vault
from cutaway.config import AT_INDEXING, PER_PROJECT, Settings
from cutaway.notes.vault import OWN_FILE

DOCS = Path(__file__).parents[2] / "docs" / "projects.md"
HOMES = sorted(set(Settings.model_fields) - set(PER_PROJECT))


@pytest.fixture
def two(cutaway: Cutaway, tmp_path: Path) -> Cutaway:
    """Two projects about the same."""
    for name in ("garden", "kitchen"):
        notes = {f"{name}.md": f"Basil in the {name}.", "drafts/later.md": "Basil later."}
        assert 0 == cutaway("index", str(write_vault(tmp_path / name, notes))).code
    return cutaway


def shown(cutaway: Cutaway, name: str = "garden") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cutaway("project", "show", name, "--json").out)
    return found


def held(cutaway: Cutaway, name: str = "garden") -> list[tuple[str, object, str]]:
    return [(value["key"], value["value"], value["by"]) for value in shown(cutaway, name)["set"]]


def planned(cutaway: Cutaway, *options: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(cutaway("inspect", "query", "basil", "--json", *options).out)["plan"]
    return plan


def found(cutaway: Cutaway, *options: str) -> list[str]:
    return [hit["path"] for hit in json.loads(cutaway("search", "basil", "--json", *options).out)["hits"]]


@pytest.mark.parametrize(("name", "value"), OTHER_VALUES.items())
def test_every_setting_of_a_project_is_set_shown_and_unset(two: Cutaway, name: str, value: Any) -> None:
    """Those that decide how notes are read say that `cutaway index` is to be run, both times."""
    setting = two("project", "set", "garden", f"{name}={value}")
    assert (0, [(name, value, "you")], []) == (setting.code, held(two), held(two, "kitchen"))
    assert name in two("project", "show", "garden").out

    unsetting = two("project", "set", "garden", "--unset", name)
    assert (0, []) == (unsetting.code, held(two))
    assert [name in AT_INDEXING] * 2 == ["cutaway index" in ran.err for ran in (setting, unsetting)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        *((("garden", f"{name}=1"), "config.toml") for name in HOMES),
        (("garden", "colour=red"), "A project may set: ignore, chunk_chars"),
        (("garden", "k1=11"), "k1: Input should be less than or equal to 10"),
        (("garden", "mode=loud"), "'text', 'vector' or 'hybrid'"),
        (("garden", "weights=status"), "CONDITION: FACTOR"),
        (("garden", "k1"), "is not KEY=VALUE"),
        (("garden", "ignore="), "is no rule"),
        (("garden", "ignore=# nothing"), "is no rule"),
        (("garden", "--unset", "colour"), "nothing to unset"),
        (("garden", "--unset", "ignore=old/"), "it ignores: drafts/"),
        (("garden",), "nothing to set"),
        (("nobody", "k1=2"), "no project is called"),
    ],
)
def test_what_cannot_be_set_is_refused_and_nothing_is_stored(
    two: Cutaway, arguments: tuple[str, ...], said: str
) -> None:
    """Not even what else was asked for in the same command."""
    two("project", "set", "garden", "b=0.3", "ignore=drafts/")
    before = held(two)
    name, *rest = arguments
    ran = two("project", "set", name, *(["tag_weight=3", *rest] if rest else []))

    assert (2, True) == (ran.code, said in ran.err)
    assert before == held(two)


def test_patterns_are_added_and_taken_away_one_by_one_or_all(two: Cutaway) -> None:
    """A pattern that is there is not there twice."""
    two("project", "set", "garden", "ignore=drafts/", "ignore=*.tmp.md", "ignore=drafts/")
    assert [("ignore", "drafts/", "you"), ("ignore", "*.tmp.md", "you")] == held(two)
    two("project", "set", "garden", "--unset", "ignore=drafts/")
    assert [("ignore", "*.tmp.md", "you")] == held(two)
    two("project", "set", "garden", "--unset", "ignore")
    assert [] == held(two)


def test_what_is_ignored_is_gone_after_the_next_run(two: Cutaway) -> None:
    """From that project only, and what to run was said."""
    assert "Run: cutaway index" in two("project", "set", "garden", "ignore=drafts/").err
    two("index")

    assert [["garden.md"], ["drafts/later.md", "kitchen.md"]] == [
        sorted(found(two, "-p", name)) for name in ("garden", "kitchen")
    ]
    assert 0 == two("inspect", "stale", "--check", "--all-projects").code


@pytest.mark.parametrize(
    "command",
    [
        ("search", "basil"),
        ("inspect", "query", "basil"),
        ("inspect", "why", "basil", "garden.md"),
        ("inspect", "compare", "basil", "garden.md", "drafts/later.md"),
        ("inspect", "diff", "basil", "--set", "limit=1"),
        ("eval", "run"),
    ],
    ids=" ".join,
)
def test_every_view_of_a_search_goes_by_the_projects_settings(
    two: Cutaway, home: Path, command: tuple[str, ...]
) -> None:
    """It shows what it shows where the home is set so."""
    two("eval", "judge", "basil", "garden.md", "3", "-p", "garden")
    plain = seen(two, *command)
    (home / "config.toml").write_text("fusion = 'rrf'", encoding="utf-8")
    expected = seen(two, *command)
    (home / "config.toml").unlink()
    two("project", "set", "garden", "fusion=rrf")

    assert plain != expected == seen(two, *command)


def seen(cutaway: Cutaway, *command: str) -> object:
    """What a command shows as JSON, but for times and for what belongs to one state of the index."""
    return timeless(json.loads(cutaway(*command, "-p", "garden", "--json").out))


def timeless(value: object) -> object:
    if isinstance(value, dict):
        return {key: timeless(held) for key, held in value.items() if key not in ("ms", "seconds", "cursor")}
    return [timeless(held) for held in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "value", "asked"), [("mode", "text", "vector"), ("mode", "vector", "text")])
def test_models_are_there_for_what_a_project_wants(two: Cutaway, home: Path, name: str, value: str, asked: str) -> None:
    """Whatever the home would have loaded; an option of the command still comes first."""
    (home / "config.toml").write_text(f"{name} = '{asked}'", encoding="utf-8")
    two("project", "set", "garden", f"{name}={value}", "rerank=true")
    plan = planned(two, "-p", "garden")

    assert (value, None) == (plan["mode"], plan["unavailable"])
    assert ("length" if value == "vector" else None) == plan["reranking"]["model"]
    assert asked == planned(two, "-p", "garden", "--mode", asked)["mode"]


def test_what_is_tried_in_an_evaluation_comes_before_the_project(two: Cutaway) -> None:
    """The run says with which settings it was made."""
    two("eval", "judge", "basil", "garden.md", "3", "-p", "garden")
    two("project", "set", "garden", "k1=2", "b=0.1")
    run = json.loads(two("eval", "run", "--set", "k1=3", "-p", "garden", "--json").out)

    assert (3.0, 0.1) == (run["settings"]["k1"], run["settings"]["b"])


def test_what_several_projects_do_not_share_is_said_in_the_answer(two: Cutaway) -> None:
    """As text and as JSON."""
    two("project", "set", "garden", "k1=2")

    assert "garden: k1 = 2.0 is not used" in two("search", "basil", "--all-projects").out
    assert ["garden: k1 = 2.0 is not used, as not every project searched has it; k1 is 1.2"] == json.loads(
        two("search", "basil", "--all-projects", "--json").out
    )["remarks"]


# The folder's own file


@pytest.fixture
def asking(two: Cutaway, tmp_path: Path) -> Cutaway:
    """The garden's folder asks for a title, for notes to be left out, and for what it may not have untrusted."""
    write_vault(
        tmp_path / "garden",
        {OWN_FILE: "title = 'The Garden'\nignore = ['drafts/']\nk1 = 2.0\nrerank_url = 'http://evil.example'\n"},
    )
    two("index")
    return two


def test_an_untrusted_file_names_and_leaves_out_and_no_more(asking: Cutaway) -> None:
    """The run, the doctor, the listing and the search say what it wanted."""
    assert ["garden.md"] == found(asking, "-p", "garden")
    assert [("ignore", "drafts/", OWN_FILE)] == held(asking)
    for view in (("project", "list"), ("status", "-p", "garden"), ("project", "show", "garden")):
        assert "The Garden" in asking(*view).out
    for view in (("search", "basil"), ("doctor",)):
        assert "rerank_url" in asking(*view, "-p", "garden").out
    for view in (("project", "show", "garden"), ("project", "trust", "garden")):
        assert "rerank_url" in asking(*view).out


def test_trust_is_given_to_what_was_shown_and_ends_with_a_change(asking: Cutaway, tmp_path: Path) -> None:
    """Looking changes nothing; --yes does; another text is untrusted again; what is the home's never counts."""
    looked = asking("project", "trust", "garden")
    assert ("not trusted", True) == (shown(asking)["file"], "k1" in looked.out and "nothing was changed" in looked.err)
    assert "not trusted" == json.loads(asking("project", "trust", "garden", "--json").out)["file"]
    assert 0 == asking("project", "trust", "garden", "--yes").code
    assert ("trusted", True) == (shown(asking)["file"], ("k1", 2.0, OWN_FILE) in held(asking))
    remarks = json.loads(asking("search", "basil", "-p", "garden", "--json").out)["remarks"]
    assert [True] == ["rerank_url" in remark and "config.toml" in remark for remark in remarks]

    write_vault(tmp_path / "garden", {OWN_FILE: "k1 = 3.0\n"})
    assert ("changed since it was trusted", []) == (shown(asking)["file"], held(asking))
    assert "was changed" in asking("index").err + asking("doctor", "-p", "garden").out
    assert "was changed" in asking("search", "basil", "-p", "garden").out


def test_trust_can_be_taken_back(asking: Cutaway) -> None:
    """At once."""
    asking("project", "trust", "garden", "--yes")
    assert 0 == asking("project", "trust", "garden", "--revoke").code

    assert ("not trusted", [("ignore", "drafts/", OWN_FILE)]) == (shown(asking)["file"], held(asking))
    assert "k1: not used" in asking("search", "basil", "-p", "garden").out


def test_a_trusted_file_is_used_at_once(two: Cutaway, tmp_path: Path) -> None:
    """Even where no run has seen it yet."""
    write_vault(tmp_path / "garden", {OWN_FILE: "mode = 'text'\n"})
    two("project", "trust", "garden", "--yes")

    assert "text" == planned(two, "-p", "garden")["mode"]


def test_a_changed_file_makes_notes_stale_that_it_decided_on(two: Cutaway, tmp_path: Path) -> None:
    """The home's settings are those of the next run."""
    write_vault(tmp_path / "garden", {OWN_FILE: "chunk_chars = 200\n"})
    two("project", "trust", "garden", "--yes")
    two("index")
    assert 0 == two("inspect", "stale", "-p", "garden", "--check").code
    write_vault(tmp_path / "garden", {OWN_FILE: "chunk_chars = 300\n"})

    assert 1 == two("inspect", "stale", "-p", "garden", "--check").code
    two("index")
    assert 0 == two("inspect", "stale", "-p", "garden", "--check").code


def test_trusting_a_file_mends_what_was_reported_of_it(two: Cutaway, tmp_path: Path) -> None:
    """Status counts no problem that the doctor does not have."""
    write_vault(tmp_path / "garden", {OWN_FILE: "k1 = 2.0\n"})
    two("index")
    problems = lambda: json.loads(two("status", "-p", "garden", "--json").out)["projects"][0]["problems"]  # noqa: E731
    before = problems()
    two("project", "trust", "garden", "--yes")

    assert (1, 0) == (before, problems())
    assert "config" not in two("doctor", "-p", "garden").out


def test_a_file_that_decides_how_notes_are_read_asks_for_a_run(two: Cutaway, tmp_path: Path) -> None:
    """When it is trusted, and when it no longer is."""
    write_vault(tmp_path / "garden", {OWN_FILE: "chunk_chars = 200\n"})
    two("index")

    assert [True, True] == [
        "Run: cutaway index" in two("project", "trust", "garden", answer).err for answer in ("--yes", "--revoke")
    ]


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (None, ("--yes",), "there is nothing to trust"),
        (b"k1 = '\xff'", ("--yes",), "not UTF-8"),
        (b"weights = 'status'", ("--yes",), "CONDITION: FACTOR"),
        (b"k1 = 2.0", ("--yes", "--revoke"), "Give one of them"),
    ],
)
def test_what_cannot_be_trusted_is_refused(
    two: Cutaway, tmp_path: Path, content: bytes | None, options: tuple[str, ...], said: str
) -> None:
    """Exit code 2, and nothing is trusted."""
    if content is not None:
        write_vault(tmp_path / "garden", {OWN_FILE: content})
    ran = two("project", "trust", "garden", *options)

    assert (2, True, False) == (ran.code, said in ran.err, shown(two)["file"] == "trusted")


def test_the_documentation_lists_what_a_project_may_set() -> None:
    """All of it, and nothing else."""
    listed = DOCS.read_text(encoding="utf-8").split("<!-- settings -->")[1]

    assert sorted(PER_PROJECT) == sorted(name.strip("` \n") for name in listed.replace("\n", " ").split(","))
