"""The pages in a real browser: by mouse, by keyboard, and with scripts turned off."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cutaway.index.state import Judgments
from serving import running

playwright = pytest.importorskip("playwright.sync_api", reason="pages are tried with Playwright: not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
QUERY = "does more salt make dough rise faster"
PATHS = ("/", f"/?q={QUERY}", f"/explain?q={QUERY}", f"/note?note=Bulk fermentation&q={QUERY}", "/index", "/judged")
GRAVE = ("serious", "critical")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(served_home: Path) -> Iterator[str]:
    with running(served_home) as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A page on which nothing goes wrong."""
    troubles: list[str] = []
    page = browser.new_page(base_url=address)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    page.on("request", lambda asked: None if asked.url.startswith((address, "data:")) else troubles.append(asked.url))
    yield page
    page.close()
    assert [] == troubles


def test_a_search_by_keyboard(page: Any) -> None:
    """A stroke to the box, words, the arrows to a hit, Enter to its note."""
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type(QUERY)
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits")
    page.keyboard.press("Escape")
    page.locator("body").click(position={"x": 5, "y": 300})
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    title = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_selector(".anatomy")

    assert title == page.locator(".hits h2 a, h1").first.text_content()
    assert "q=does" in page.url


def test_the_scores_of_a_hit_show_its_way(page: Any) -> None:
    """Under the mouse, and with the focus: its ranks at every stage, and what the scores are made of."""
    page.goto(f"/?q={QUERY}")
    titles = page.locator(".hits h2 a").all_text_contents()
    assert titles[0] in page.locator("#panel h3").text_content()  # before anything is pointed at
    page.locator(".hit").nth(2).hover()
    assert titles[2] in page.locator("#panel h3").text_content()
    page.locator(".scores").nth(1).focus()
    said = page.locator("#panel").text_content()

    assert titles[1] in said
    assert re.search(r"fuse.*lexical 0\.\d+ \+ similarity 0\.\d+", said, re.DOTALL)
    assert re.search(r"chunk #\d+ *lines? [\d–]+ · id \d+", said)
    assert page.locator(".hit.on").count() == 1


def test_on_a_phone_the_way_comes_up_from_below_and_goes_again(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"/?q={QUERY}")
    assert page.locator("#panel").is_hidden()
    page.locator(".scores").nth(1).click()
    assert page.locator("#panel .way").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()


def test_one_line_is_followed_by_mouse_and_by_keyboard(page: Any) -> None:
    """And the table's row with it."""
    page.goto(f"/explain?q={QUERY}")
    lines = page.locator(".flow .line")
    assert page.locator("#followed").is_hidden()
    lines.last.dispatch_event("mouseover")
    assert 1 == page.locator("tr.on").count()
    title = page.locator("tr.on .name a").text_content()
    assert title == page.locator("#followed h3").text_content()
    assert re.search(r"fuse.*lexical 0\.\d+ \+ similarity 0\.\d+", page.locator("#followed").inner_text(), re.DOTALL)
    assert "following" in page.locator(".flow").get_attribute("class")
    lines.last.dispatch_event("mouseout")
    assert 0 == page.locator("tr.on").count()
    assert page.locator("#followed").is_hidden()
    lines.first.focus()
    assert 1 == page.locator("tr.on").count()
    page.keyboard.press("Enter")
    place = lines.first.get_attribute("data-c")
    assert page.locator(f"#c{place} details .way").is_visible()


def test_a_control_asks_again_in_place_and_says_what_changed(page: Any) -> None:
    page.goto(f"/explain?q={QUERY}")
    page.evaluate("window.same = true")
    page.locator("input[name=sim]").fill("0.9")
    page.locator("input[name=sim]").press("Enter")
    page.wait_for_selector(".diff")

    assert page.evaluate("window.same")
    assert "sim=0.9" in page.url
    page.reload()
    assert page.locator(".diff").count() == 1  # the address holds it all


def test_a_chunk_says_what_the_index_holds_of_it(page: Any) -> None:
    page.goto(f"/note?note=Bulk fermentation&q={QUERY}")
    page.locator(".chunk").first.hover()
    said = " ".join(page.locator("#panel").inner_text().split())

    assert re.search(r"Chunk #1 similarity 0\.\d+ row entity where lines \d+–\d+ bytes [\d,]+–[\d,]+ state ready", said)
    assert re.search(r"tokens \d+ .*hash [0-9a-f]{12} id \d+$", said)
    page.locator(".chunk").nth(1).focus()
    assert "Chunk #2" in page.locator("#panel").text_content()


def test_rows_are_marked_in_the_margin_where_they_begin(page: Any) -> None:
    """Each beside the line that it begins on, and the list of rows leads there."""
    page.goto("/note?note=Bulk fermentation")
    marks = page.locator(".source .mark")
    kinds = [(one.get_attribute("class") or "").split()[1] for one in marks.all()]
    left = page.locator(".source pre").first.bounding_box()["x"]

    boxes = [one.bounding_box() for one in marks.all()]

    assert {"observation", "relation"} == set(kinds)
    assert len(kinds) == page.locator(".rows a[href^='#row-']").count()
    assert all(box["x"] < left for box in boxes)
    assert sorted(box["y"] for box in boxes) == [box["y"] for box in boxes]
    place = page.locator(".rows a[href^='#row-observation']").first.get_attribute("href")
    assert "- [" in page.evaluate("place => document.querySelector(place).nextSibling.data", place)


def test_a_walk_from_passage_to_passage_leaves_a_trail(page: Any) -> None:
    page.goto("/neighbors?target=Salt myths")
    for _ in range(2):
        page.locator(".hits h2 a").first.click()
        page.wait_for_selector(".trail")

    assert 2 == page.locator(".trail a").count()
    page.locator(".trail a").first.click()
    assert "Salt myths" == page.locator(".target h1").text_content()


def test_a_judgment_in_place(page: Any, served_home: Path) -> None:
    page.goto("/?q=salt")
    page.evaluate("window.same = true")
    page.locator(".judge").first.locator("button", has_text="2").click()
    page.wait_for_selector(".judge button[aria-pressed=true]")

    assert page.evaluate("window.same")
    assert [2] == [one.grade for one in Judgments(served_home).of(["bread"])]
    page.locator(".judge button[aria-pressed=true]").click()
    page.wait_for_selector(".judge button[aria-pressed=true]", state="detached")
    assert [] == Judgments(served_home).of(["bread"])


def test_a_run_is_followed(page: Any) -> None:
    page.goto("/index")
    page.locator("#run").click()
    page.wait_for_selector("tr[data-state=done]")

    assert "done" in page.locator("tr[data-run]").first.text_content()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", PATHS)
def test_no_page_is_wider_than_its_window(page: Any, path: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(path)

    assert page.evaluate("document.documentElement.scrollWidth") <= width


AXE = find_spec("axe_playwright_python")


@pytest.mark.skipif(AXE is None, reason="needs axe-playwright-python")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_keeps_anybody_out(browser: Any, address: str, theme: str) -> None:
    """What axe calls serious or critical, on any page, in either theme."""
    assert AXE
    assert AXE.origin
    script = Path(AXE.origin).with_name("axe.min.js").read_text(encoding="utf-8")
    context = browser.new_context(bypass_csp=True, color_scheme=theme, base_url=address)
    page, found = context.new_page(), []
    for path in (*PATHS, "/neighbors?target=Salt myths", f"/why?q={QUERY}&note=Cold retard", "/?q=x&project=nowhere"):
        page.goto(path)
        page.add_script_tag(content=script)
        violations = page.evaluate("axe.run()")["violations"]
        found += [(path, one["id"], one["nodes"][0]["html"]) for one in violations if one["impact"] in GRAVE]
    context.close()

    assert [] == found


def test_without_scripts_search_and_notes_are_whole(browser: Any, address: str) -> None:
    page = browser.new_page(base_url=address, java_script_enabled=False)
    page.goto("/")
    page.locator("input[name=q]").fill(QUERY)
    page.locator("button[type=submit]").first.click()
    page.locator(".more summary").first.click()
    assert page.locator(".way").first.is_visible()
    page.locator(".hits h2 a").first.click()
    assert page.locator(".chunk").count() > 0
    page.go_back()
    page.locator(".judge button").first.click()
    assert "/?q=" in page.url
    page.close()
