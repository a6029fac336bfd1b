"""Trust: scores multiplied by what the frontmatter says of a note, when the settings ask for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, LengthReranker, ask, index_vault, paths, write_vault
from cutaway.config import Settings
from cutaway.errors import SettingsError
from cutaway.inspector.compare import final, score_parts
from cutaway.inspector.journeys import candidates
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.plan import Models
from cutaway.retrieval.weights import rules

ON = Settings(weigh=True)
NOTES = {
    "rumour.md": "---\nconfidence: 0.2\n---\nred red red",
    "fact.md": "---\nconfidence: 1\n---\nred green blue sun",
    "old.md": "---\nstatus: superseded\nconfidence: 0.5\n---\nred red green",
    "plain.md": "red sun moon",
    "odd.md": "---\nconfidence: 7\n---\nred green sun sun",
}


@pytest.fixture
def trusted(home: Path, vault: Path) -> Path:
    index_vault(home, write_vault(vault, NOTES), HashEmbedder())
    return home


def scores(answer: Answer) -> dict[str, float]:
    return dict(zip(paths(answer), (hit.score for hit in answer.page), strict=True))


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_each_score_is_multiplied_by_the_weight_of_its_note(trusted: Path, mode: str) -> None:
    """Confidence times every rule that is met; a confidence beyond 1 is none, and neither is a note without."""
    plain = scores(ask(trusted, "red", HashEmbedder(), mode=mode))
    weighed = scores(ask(trusted, "red", HashEmbedder(), ON, mode=mode))

    factors = {"rumour.md": 0.2, "fact.md": 1.0, "old.md": 0.25, "plain.md": 1.0, "odd.md": 1.0}
    assert {path: pytest.approx(score * factors[path], abs=1e-8) for path, score in plain.items()} == weighed


def test_it_is_off_unless_asked_for(trusted: Path) -> None:
    """No stage, no name in the formula."""
    answer = ask(trusted, "red", HashEmbedder())

    assert "weigh" not in [step.name for step in answer.stages]
    assert "weights" not in answer.formula


def test_the_trace_says_by_how_much_and_why(trusted: Path) -> None:
    """The factor and its sources beside the score, the rules beside the stage, and its name in the formula."""
    answer = ask(trusted, "red", HashEmbedder(), ON, mode="text")
    step = next(step for step in answer.stages if step.name == "weigh")

    assert ({"rules": "status=deprecated,superseded: 0.5"}, "2 weighed") == (step.settings, step.remark)
    assert {"×0.25 confidence 0.5, status=deprecated,superseded", "×0.2 confidence 0.2", None} == {
        hit.mark for hit in step.kept
    }
    assert "bm25-saturated/v3 × weights/v1" == answer.formula


def test_any_condition_can_be_a_rule(trusted: Path) -> None:
    """A path, a tag, a property: whatever `--where` knows."""
    chosen = Settings(weigh=True, weights="path=*.md: 0.5; !status: 0.5; red: 1")
    plain, weighed = (scores(ask(trusted, "sun", settings=each, mode="text")) for each in (Settings(), chosen))

    assert {path: pytest.approx(score / 4, abs=1e-8) for path, score in plain.items()} == weighed


@settings(max_examples=20, deadline=None)
@given(limit=st.integers(1, 4), mode=st.sampled_from(["text", "vector", "hybrid"]), rerank=st.booleans())
def test_the_parts_of_a_weighed_score_add_up(
    tmp_path_factory: pytest.TempPathFactory, limit: int, mode: str, rerank: bool
) -> None:
    """Words, similarity, what the weight takes away, what the cross-encoder adds."""
    home = tmp_path_factory.getbasetemp() / "weighed"
    if not home.exists():
        index_vault(home, write_vault(tmp_path_factory.getbasetemp() / "weighed-vault", NOTES), HashEmbedder())
    models = Models(HashEmbedder(), LengthReranker())
    answer = ask(home, "red sun", settings=ON, models=models, mode=mode, limit=limit, rerank=rerank)

    for seen in candidates(answer):
        assert sum(score_parts(seen).values()) == pytest.approx(final(seen), abs=1e-8)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_concatenate(trusted: Path, limit: int) -> None:
    """As they do without weights."""
    whole = paths(ask(trusted, "red", HashEmbedder(), ON))
    pages = [paths(ask(trusted, "red", HashEmbedder(), ON, limit=limit, page=page)) for page in range(1, 6)]

    assert whole == [path for page in pages for path in page]


@pytest.mark.parametrize(
    "text",
    ["status=old", "status=old: high", "status=old: 2", "status=old: -1", "status=old: nan", "=: 0.5", "tag<3: 0.5"],
)
def test_a_rule_that_cannot_be_read_is_named(text: str) -> None:
    """With what a rule is."""
    with pytest.raises(SettingsError, match="weights: "):
        rules(text)
