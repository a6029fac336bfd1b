"""When reranking cannot be had, when it is not wanted, and when it was had before."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from builders import Cutaway, HashEmbedder, LengthReranker, Ran, ask, index_vault, write_vault
from cutaway.config import Settings
from cutaway.errors import ModelUnavailable, RerankFailed
from cutaway.faces import indexing, loading
from cutaway.faces.cli.main import main
from cutaway.index.state import ScoreCache
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.plan import Models
from retrieval.worlds import Judge

NOTES = {"a.md": "red", "b.md": "red sun", "c.md": "red sun moon", "d.md": "red sun moon blue"}
STRICT = Settings(rerank_failure="error")
ALWAYS = Settings(rerank=True)
halves = lambda texts: [0.5 for _ in texts]  # noqa: E731


def raising(error: Exception) -> Callable[[Sequence[str]], NoReturn]:
    def judge(_: Sequence[str]) -> NoReturn:
        raise error

    return judge


FAULTS: dict[str, tuple[Callable[[Sequence[str]], Any], str]] = {
    "a runtime error": (raising(RuntimeError("out of memory")), "out of memory"),
    "a value error": (raising(ValueError("bad shape")), "bad shape"),
    "an arithmetic error": (raising(ZeroDivisionError("division by zero")), "division by zero"),
    "an input error": (raising(OSError("the disk is gone")), "the disk is gone"),
    "a missing key": (raising(KeyError("logits")), "'logits'"),
    "its own error": (raising(RerankFailed("answered with status 503")), "answered with status 503"),
    "no model": (raising(ModelUnavailable("not installed")), "not installed"),
    "a timeout": (raising(TimeoutError("no answer in 10 s")), "no answer in 10 s"),
    "a timeout without words": (raising(TimeoutError()), "TimeoutError"),
    "not a number": (lambda _: [0.5, 0.5, 0.5, math.nan], "a score that is not finite: nan"),
    "infinity": (lambda _: [0.5, math.inf, 0.5, 0.5], "a score that is not finite: inf"),
    "too few": (lambda _: [0.5, 0.5, 0.5], "gave 3 scores for 4 documents"),
    "none at all": (lambda _: [], "gave 0 scores for 4 documents"),
    "too many": (lambda _: [0.5] * 5, "gave 5 scores for 4 documents"),
    "above one": (lambda _: [0.5, 0.5, 0.5, 1.5], "outside 0 to 1: 1.5"),
    "below zero": (lambda _: [-0.1, 0.5, 0.5, 0.5], "outside 0 to 1: -0.1"),
    "nothing": (lambda _: None, "NoneType"),
    "nothing for one": (lambda _: [0.5, None, 0.5, 0.5], "gave None where a score was expected"),
    "a text": (lambda _: "high", "gave 'h' where a score was expected"),
    "a number in words": (lambda _: [0.5, 0.5, "0.5", 0.5], "gave '0.5' where a score was expected"),
    "a truth value": (lambda _: [0.5, 0.5, True, 0.5], "gave True where a score was expected"),
    "a number too large": (lambda _: [0.5, 0.5, 0.5, 10**400], "outside 0 to 1: 1000"),
}
faults = pytest.mark.parametrize(("judge", "reason"), FAULTS.values(), ids=FAULTS)


@pytest.fixture
def stars(home: Path, tmp_path: Path) -> Path:
    """A home with four notes, each a document of its own."""
    index_vault(home, write_vault(tmp_path / "stars", NOTES), HashEmbedder())
    return home


@pytest.fixture
def cutaway(stars: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cutaway:
    """The command line in process, over those notes."""
    monkeypatch.setenv("CUTAWAY_HOME", str(stars))
    for module in (indexing, loading):
        monkeypatch.setattr(module, "named_embedder", lambda *_, **__: HashEmbedder())
    return lambda *arguments: Ran(main(arguments), *capsys.readouterr())


def named(monkeypatch: pytest.MonkeyPatch, model: Callable[[], Any]) -> None:
    """Let the settings name this cross-encoder."""
    monkeypatch.setattr(loading, "named_cross_encoder", lambda *_, **__: model())


def search(
    home: Path,
    reranker: Judge | LengthReranker | str,
    settings: Settings | None = None,
    cache: ScoreCache | None = None,
    **asked: Any,
) -> Answer:
    models = Models(HashEmbedder(), reranker, cache)
    return ask(home, "red sun", settings=settings, models=models, **{"rerank": True, **asked})


def fused(home: Path) -> Answer:
    return search(home, "no reranker", rerank=False)


# Failures


@pytest.mark.parametrize("judge", [judge for judge, _ in FAULTS.values()], ids=FAULTS)
def test_a_failure_leaves_the_fused_order(stars: Path, judge: Any) -> None:
    """The same hits with the same scores and passages as without reranking."""
    assert fused(stars).page == search(stars, Judge(judge)).page


@faults
def test_a_failure_is_said_once_and_why(stars: Path, judge: Any, reason: str) -> None:
    """Where it happened, the reason, and what order this is."""
    ((stage, said),) = search(stars, Judge(judge)).degraded

    assert ("rerank", True) == (stage, said.endswith(". The order is that of the fused scores"))
    assert reason in said


@faults
def test_a_failure_stands_in_the_trace(stars: Path, judge: Any, reason: str) -> None:
    """The stage kept nothing, gives everything its reason, and remarks what went wrong."""
    (step,) = [step for step in search(stars, Judge(judge)).stages if step.name == "rerank"]

    assert ((), {"not reranked"}, 4) == (step.kept, {out.reason for out in step.dropped}, len(step.dropped))
    assert reason in (step.remark or "")


@faults
def test_a_failure_is_an_error_where_settings_want_one(stars: Path, judge: Any, reason: str) -> None:
    """No page, and the reason."""
    with pytest.raises(RerankFailed) as refusal:
        search(stars, Judge(judge), STRICT)

    assert str(refusal.value).startswith("reranking failed: ")
    assert reason in str(refusal.value)


def test_a_formula_does_not_claim_a_reranking_that_failed(stars: Path) -> None:
    """The scores are those of fusion."""
    found = search(stars, Judge(raising(RuntimeError("broken"))))

    assert ("calibrated-dismax/v3", False) == (found.formula, found.reranked)


@faults
def test_the_command_line_shows_the_fused_order_and_succeeds(
    cutaway: Cutaway, monkeypatch: pytest.MonkeyPatch, judge: Any, reason: str
) -> None:
    """Exit code 0; the reason comes first."""
    named(monkeypatch, lambda: Judge(judge))
    ran, plain = cutaway("search", "red sun", "--rerank"), cutaway("search", "red sun")

    assert (0, plain.out.splitlines()) == (ran.code, ran.out.splitlines()[1:])
    assert reason in ran.out.splitlines()[0]


@faults
def test_the_command_line_fails_where_settings_want_it(
    cutaway: Cutaway, monkeypatch: pytest.MonkeyPatch, judge: Any, reason: str
) -> None:
    """Exit code 2, nothing on the page, one line of reason."""
    monkeypatch.setenv("CUTAWAY_RERANK_FAILURE", "error")
    named(monkeypatch, lambda: Judge(judge))
    ran = cutaway("search", "red sun", "--rerank")

    assert (2, "", 1) == (ran.code, ran.out, len(ran.err.splitlines()))
    assert reason in ran.err


# No reranker


def test_a_reranker_that_is_not_there_leaves_the_fused_order(stars: Path) -> None:
    """The same hits as if it had not been asked for."""
    assert fused(stars).page == search(stars, "not installed").page


def test_a_reranker_that_is_not_there_is_said(stars: Path) -> None:
    """No stage ran, so the plan says why."""
    found = search(stars, "not installed")

    assert [("rerank", "not installed")] == list(found.degraded)
    assert ("not installed", None) == (found.plan.reranking.unavailable, found.plan.reranking.model)


def test_a_reranker_that_is_not_there_is_an_error_where_settings_want_one(stars: Path) -> None:
    """Said before anything is read."""
    with pytest.raises(RerankFailed, match="reranking is not possible: not installed"):
        search(stars, "not installed", STRICT)


def test_a_reranker_that_nobody_wants_is_not_missed(stars: Path) -> None:
    """Not even where settings want an error."""
    assert () == search(stars, "not installed", STRICT, rerank=False).degraded


@pytest.mark.parametrize(("failure", "code", "said"), [("fallback", 0, "out"), ("error", 2, "err")])
def test_the_command_line_says_that_a_reranker_is_not_there(
    cutaway: Cutaway, monkeypatch: pytest.MonkeyPatch, failure: str, code: int, said: str
) -> None:
    """As a banner over the results, or as the error."""
    monkeypatch.setenv("CUTAWAY_RERANK_FAILURE", failure)
    named(monkeypatch, lambda: raising(ModelUnavailable("not installed"))(()))
    ran = cutaway("search", "red sun", "--rerank")

    assert code == ran.code
    assert "not installed" in getattr(ran, said).splitlines()[0]


# Not wanted


@pytest.mark.parametrize(
    ("settings", "asked", "projects", "why", "calls"),
    [
        (Settings(), {"rerank": None}, 1, "off in the settings", 0),
        (Settings(), {"rerank": True}, 1, "asked for", 1),
        (Settings(), {"rerank": None, "depth": 3}, 1, "asked for by naming a depth", 1),
        (ALWAYS, {"rerank": None}, 1, "on in the settings", 1),
        (ALWAYS, {"rerank": False, "depth": 3}, 1, "declined by the request", 0),
        (ALWAYS, {"rerank": None, "mode": "text"}, 1, "a text search is reranked only when asked", 0),
        (ALWAYS, {"rerank": True, "mode": "text"}, 1, "asked for", 1),
        (ALWAYS, {"rerank": None, "mode": "text", "depth": 3}, 1, "asked for by naming a depth", 1),
        (ALWAYS, {"rerank": None}, 2, "several projects are reranked only when asked", 0),
        (ALWAYS, {"rerank": None, "depth": 3}, 2, "asked for by naming a depth", 1),
    ],
)
def test_whether_to_rerank_is_decided_and_said(
    home: Path, tmp_path: Path, settings: Settings, asked: dict[str, Any], projects: int, why: str, calls: int
) -> None:
    """The request goes before the settings; these alone rerank neither words only nor several projects."""
    for number in range(projects):
        index_vault(home, write_vault(tmp_path / f"p{number}", NOTES), HashEmbedder())
    model = LengthReranker()
    found = search(home, model, settings, **asked)

    assert (why, calls) == (found.plan.reranking.why, model.calls)


# Had before


def marks(found: Answer) -> set[str | None]:
    """How the cross-encoder's scores are marked."""
    return {hit.mark for step in found.stages if step.name == "rerank" for hit in step.kept}


def test_remembered_scores_need_no_model(stars: Path) -> None:
    """All are known: it is not called, so it cannot fail; the page is the same and the scores are marked."""
    cache = ScoreCache(stars, 100)
    first = search(stars, LengthReranker("one"), cache=cache)
    again = search(stars, Judge(raising(RuntimeError("broken")), "one"), cache=cache)

    assert first.page == again.page
    assert ({None}, {"remembered"}) == (marks(first), marks(again))


def test_another_reranker_is_served_no_remembered_scores(stars: Path) -> None:
    """Under another identity everything is read anew."""
    cache = ScoreCache(stars, 100)
    search(stars, LengthReranker("one"), cache=cache)
    other = LengthReranker("other", shortest_first=False)

    assert search(stars, other).page == search(stars, other, cache=cache).page


def test_only_unknown_documents_are_sent(stars: Path) -> None:
    """Those within the smaller depth were read before, for the same query."""
    cache, first, second = ScoreCache(stars, 100), Judge(halves), Judge(halves)
    search(stars, first, cache=cache, depth=1)
    found = search(stars, second, cache=cache, depth=3)

    assert (1, 2, {None, "remembered"}) == (len(first.read), len(second.read), marks(found))
    assert set() == {*first.read} & {*second.read}


def test_a_changed_note_is_read_anew(stars: Path, tmp_path: Path) -> None:
    """It alone."""
    cache, model = ScoreCache(stars, 100), Judge(halves)
    search(stars, model, cache=cache)
    model.read.clear()
    index_vault(stars, write_vault(tmp_path / "stars", {"b.md": "red sun again"}), HashEmbedder())
    search(stars, model, cache=cache)

    assert ["red sun again"] == model.read


def test_a_failure_uses_no_remembered_score(stars: Path) -> None:
    """Two scores known, two not to be had: the order is wholly that of fusion."""
    cache = ScoreCache(stars, 100)
    search(stars, Judge(halves), cache=cache, depth=2)

    assert fused(stars).page == search(stars, Judge(raising(RuntimeError("broken"))), cache=cache).page


def test_a_failure_leaves_nothing_to_remember(stars: Path) -> None:
    """Scores that could not be trusted are not kept, not even those among them that could."""
    cache, model = ScoreCache(stars, 100), Judge(halves)
    search(stars, Judge(FAULTS["not a number"][0]), cache=cache)
    search(stars, model, cache=cache)

    assert 4 == len(model.read)
