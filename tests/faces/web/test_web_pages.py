"""Pages, as they come over the wire: whole without a script, safe whatever a note says, their state in the address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pytest

from builders import HashEmbedder, index_vault, write_vault
from cutaway.faces.web.state import State
from cutaway.faces.web.views import AT_ONCE
from cutaway.index.state import Judgment, Judgments
from serving import client_of, running

QUERY = "does more salt make dough rise faster"
PAGES = {
    "start": ("/", {}),
    "search": ("/", {"q": QUERY}),
    "page two": ("/", {"q": QUERY, "page": "2", "limit": "5"}),
    "rows": ("/", {"q": QUERY, "by": "row", "mode": "text"}),
    "reranked": ("/", {"q": QUERY, "rerank": "on"}),
    "nothing": ("/", {"q": "tag:nowhere"}),
    "explain, start": ("/explain", {}),
    "explain": ("/explain", {"q": QUERY}),
    "explain, nothing": ("/explain", {"q": "tag:nowhere"}),
    "explain, listed": ("/explain", {"q": "tag:salt"}),
    "explain, no such fate": ("/explain", {"q": QUERY, "fate": "nothing of the kind"}),
    "explain, beyond the last": ("/explain", {"q": QUERY, "at": "9000"}),
    "explain changed": ("/explain", {"q": QUERY, "tie": "0", "sim": "0.5", "from": f"q={QUERY}"}),
    "note": ("/note", {"note": "Salt myths"}),
    "note coloured": ("/note", {"note": "Salt myths", "q": QUERY}),
    "neighbours": ("/neighbors", {"target": "Salt myths"}),
    "neighbours of words": ("/neighbors", {"text": "salt"}),
    "neighbours, start": ("/neighbors", {}),
    "why": ("/why", {"q": QUERY, "note": "Cold retard"}),
    "why, start": ("/why", {}),
    "why, which": ("/why", {"q": QUERY}),
    "index": ("/index", {}),
    "judged": ("/judged", {}),
}


class Read(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.inside = "", ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data: str) -> None:
        assert self.inside != "script" or not data.strip(), "a script stands in the page"
        self.text += data


@pytest.fixture(scope="module")
def web(served_home: Path) -> Iterator[httpx2.Client]:
    with running(served_home) as server, client_of(server) as client:
        client.base_url = f"http://127.0.0.1:{server.port}"  # type: ignore[assignment]
        yield client


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_nothing_inline_and_loads_nothing_from_elsewhere(name: str, web: httpx2.Client) -> None:
    path, values = PAGES[name]
    answer = web.get(path, params=values)
    read = Read(answer.text)

    assert 200 == answer.status_code, read.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    for tag, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        for link in ("src", "href", "action"):
            assert not re.match(r"(https?:)?//|javascript:", attributes.get(link) or ""), attributes


@pytest.mark.parametrize("name", PAGES)
def test_every_link_of_a_page_leads_somewhere(name: str, web: httpx2.Client) -> None:
    path, values = PAGES[name]
    text = web.get(path, params=values).text
    links = {attributes["href"] for tag, attributes in Read(text).tags if tag == "a" and attributes.get("href")}
    own = sorted(link for link in links if link and link.startswith("/"))
    anchors = {attributes.get("id") for _, attributes in Read(text).tags}

    assert not [link for link in own[:14] if web.get(link).status_code != 200]
    assert not [link for link in links if link and link.startswith("#") and link[1:] not in anchors]


def test_the_first_page_is_small(web: httpx2.Client) -> None:
    """With everything it loads, over the wire, under 100 kB."""
    start = web.get("/", params={"q": QUERY})
    needed = re.findall(r'(?:src|href)="(/static/[^"]+)"', start.text)
    sizes = [int(web.get(address).headers["content-length"]) for address in needed]

    assert 3 == len(needed)
    assert int(start.headers["content-length"]) + sum(sizes) < 100_000


def test_each_hit_shows_named_scores_and_its_marked_terms(web: httpx2.Client) -> None:
    text = web.get("/", params={"q": QUERY}).text
    found = web.post("/api/v1/search", json={"query": QUERY}).json()["hits"]

    titles = re.findall(r'<span class="rank">\d+</span> <a [^>]*>([^<]*)</a>', text)
    assert [hit["title"].replace("'", "&#39;") for hit in found] == titles
    assert f"{found[0]['scores']['cosine']:.3f}" in text
    assert "<mark>salt</mark>" in text


def test_the_funnel_is_the_apis(web: httpx2.Client) -> None:
    trace = web.post("/api/v1/inspect/query", json={"query": QUERY}).json()
    read = Read(web.get("/explain", params={"q": QUERY}).text).text

    assert all(stage["name"] in read for stage in trace["stages"])
    assert f"{len(trace['candidates'])} were seen" in read


def test_a_change_of_settings_is_shown_against_the_last_look(web: httpx2.Client) -> None:
    text = web.get("/explain", params={"q": QUERY, "mode": "text", "from": f"q={QUERY}"}).text

    assert "Since the last look" in text
    assert re.search(r"\d+ entered · \d+ left · [1-9]\d* moved", text)
    assert "Since the last look" not in web.get("/explain", params={"q": QUERY, "from": "q=another"}).text


def test_every_candidate_can_be_reached(tmp_path: Path) -> None:
    """From the nearest on, so many at once, in the order of the trace; and those of one fate alone."""
    notes = {f"n{place}.md": f"# salt {place}\n\n{'salt ' * (place % 9 + 1)}\n" for place in range(150)}
    index_vault(tmp_path / "home", write_vault(tmp_path / "vault", notes), HashEmbedder(), name="v")
    with running(tmp_path / "home") as server, client_of(server) as client:
        trace = client.post("inspect/query", json={"query": "salt"}).json()
        client.base_url = f"http://127.0.0.1:{server.port}"  # type: ignore[assignment]
        address, places = "/explain?q=salt", list[int]()
        while address:
            text = client.get(address).text
            places += map(int, re.findall(r'<tr id="c(\d+)"', text))
            further = re.search(r'rel="next" href="([^"#]+)#candidates">further', text)
            address = unescape(further[1]) if further else ""
        after = client.get("/explain", params={"q": "salt", "fate": "after this page"}).text
    reasons = [seen["fate"]["reason"] for seen in trace["candidates"]]
    alike = [place for place, reason in enumerate(reasons) if reason == "after this page"]

    assert [*range(150)] == places
    assert alike[:AT_ONCE] == [int(place) for place in re.findall(r'<tr id="c(\d+)"', after)]


def test_the_chart_and_its_table_say_the_same(web: httpx2.Client) -> None:
    """The ranks of each line, as it is called, are those of its row."""
    text = web.get("/explain", params={"q": QUERY}).text
    lines = dict(re.findall(r'data-c="(\d+)" aria-label="[^"]*, ranks ([^"]*)"', text))
    table = {}
    for place, cells in re.findall(
        r'<tr id="c(\d+)".*?</td>\s*<td class="name">.*?</td>(.*?)<td><span', text, re.DOTALL
    ):
        table[place] = ", ".join(re.findall(r'<td class="r">([^<]*)</td>', cells))

    assert table
    assert lines == table


def test_what_an_address_changes_holds_on_every_page(web: httpx2.Client) -> None:
    """From the explanation back to the results, under the same settings."""
    changed = {"q": QUERY, "tie": "0", "set": "saturation=0.2"}
    titles = re.findall(r'<span class="rank">\d+</span> <a [^>]*>([^<]*)</a>', web.get("/", params=changed).text)
    first = re.findall(r'<td class="name"><a [^>]*>([^<]*)</a>', web.get("/explain", params=changed).text)
    plain = re.findall(r'<span class="rank">\d+</span> <a [^>]*>([^<]*)</a>', web.get("/", params={"q": QUERY}).text)

    why = web.get("/why", params={**changed, "note": "Cold retard"}).text

    assert first[: len(titles)] == titles != plain
    for text in (web.get("/", params=changed).text, why):
        assert "saturation=0.2 · tie_breaker=0 ·" in text  # and says so
        assert '<input type="hidden" name="set" value="saturation=0.2">' in text


def test_a_note_to_ask_about_can_be_picked(web: httpx2.Client) -> None:
    """From all that the search saw, each note once, at its best row's place."""
    trace = web.post("/api/v1/inspect/query", json={"query": QUERY}).json()
    text = web.get("/why", params={"q": QUERY}).text
    paths = list(dict.fromkeys(seen["path"] for seen in trace["candidates"]))

    assert [f"bread:{path}" for path in paths] == [
        unescape(said)
        for said in re.findall(
            r'</a>[^<]*(?:<span class="kind[^>]*>\w+</span>)?[^<]*<span class="dim">([^<]*)</span>', text
        )
    ]


def test_a_note_whose_file_has_moved_on_shows_both_versions(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "vault", {"a.md": "# Salt\n\nslows yeast\n"})
    index_vault(tmp_path / "home", vault, HashEmbedder(), name="v")
    (vault / "a.md").write_text("# Salt\n\nslows <b>yeast</b> a little\n")
    with running(tmp_path / "home") as server, client_of(server) as client:
        client.base_url = f"http://127.0.0.1:{server.port}"  # type: ignore[assignment]
        text = client.get("/note", params={"note": "a.md"}).text

    assert '<code class="old">-slows yeast</code>' in text
    assert '<code class="new">+slows &lt;b&gt;yeast&lt;/b&gt; a little</code>' in text
    assert "<pre># Salt\n\nslows yeast\n</pre>" in text  # what the index holds


def test_a_note_is_drawn_whole_and_byte_for_byte(web: httpx2.Client) -> None:
    source = web.get("/api/v1/note", params={"note": "Salt myths"}).json()["text"]
    text = web.get("/note", params={"note": "Salt myths"}).text
    parts = [re.sub(r"<[^>]+>", "", part) for part in re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL)]

    assert source == "".join(map(unescape, parts))


@pytest.mark.parametrize(
    ("path", "values", "status", "said"),
    [
        ("/explain", {"q": QUERY, "at": "-1"}, 400, "at: &#39;-1&#39;"),
        ("/", {"q": QUERY, "where": "status<"}, 400, "cannot be read"),
        ("/", {"q": QUERY, "project": "nowhere"}, 404, "no project is called"),
        ("/", {"q": QUERY, "limit": "many"}, 400, "limit: "),
        ("/", {"q": QUERY, "page": "-1"}, 400, "page: "),
        ("/explain", {"q": QUERY, "tie": "9"}, 400, "tie_breaker"),
        ("/", {"q": QUERY, "tie": "9"}, 400, "tie_breaker"),
        ("/why", {"q": QUERY, "note": "Cold retard", "tie": "9"}, 400, "tie_breaker"),
        ("/explain", {"q": QUERY, "set": "embedder_url=http://evil.example"}, 400, "cannot change"),
        ("/note", {"note": "no such note"}, 404, "no such note"),
        ("/note", {}, 400, "note: "),
        ("/neighbors", {"target": "Salt myths#99"}, 400, "#99"),
        ("/why", {"q": QUERY, "note": "<script>alert(1)</script>"}, 404, "&lt;script&gt;"),
    ],
)
def test_what_cannot_be_shown_is_said_in_the_page(
    path: str, values: dict[str, str], status: int, said: str, web: httpx2.Client
) -> None:
    answer = web.get(path, params=values)

    assert (status, True) == (answer.status_code, answer.headers["content-type"].startswith("text/html"))
    assert said in answer.text
    assert 'role="alert"' in answer.text


def test_a_judgment_is_kept_and_taken_back(web: httpx2.Client, served_home: Path) -> None:
    """With a form alone it leads back to the page; with the script it gives the new buttons."""
    said = {"query": "salt", "project": "bread", "path": "dough/Salt myths.md", "back": "/?q=salt"}
    kept = web.post("/judge", data={**said, "grade": "3"})
    held = Judgments(served_home).of(["bread"])
    shown = web.get("/", params={"q": "salt"}).text
    back = web.post("/judge", data={**said, "grade": "none"}, headers={"HX-Request": "true"})

    assert (303, "/?q=salt") == (kept.status_code, kept.headers["location"])
    assert [Judgment("bread", "salt", "dough/Salt myths.md", 3)] == held
    assert 'title="3: fully" aria-pressed="true"' in shown
    assert (200, False) == (back.status_code, 'aria-pressed="true"' in back.text)
    assert [] == Judgments(served_home).of(["bread"])


def test_what_was_judged_is_listed_and_taken_back(web: httpx2.Client, served_home: Path) -> None:
    """By query; also what was said of a project, and a note, that the index has no more."""
    store = Judgments(served_home)
    gone = Judgment("gone", "salt", "old <b>note</b>.md", 2)
    store.keep([gone, Judgment("bread", "salt", "dough/Salt myths.md", 0)])
    text = web.get("/judged").text
    said = {"query": "salt", "project": gone.project, "path": gone.path, "grade": "none", "back": "/judged"}
    back = web.post("/judge", data=said)

    assert "2 judgments of 1 query" in text
    assert "gone:old &lt;b&gt;note&lt;/b&gt;.md" in text
    assert (303, "/judged") == (back.status_code, back.headers["location"])
    assert ["bread"] == [one.project for one in store.all()]
    store.forget(store.all()[0])
    assert "Nothing yet" in web.get("/judged").text


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_a_judgment_leads_nowhere_else(web: httpx2.Client, back: str) -> None:
    said = {"query": "salt", "project": "bread", "path": "dough/Salt myths.md", "grade": "none", "back": back}

    assert "/" == web.post("/judge", data=said).headers["location"]


def test_another_site_cannot_judge(web: httpx2.Client) -> None:
    said = {"query": "salt", "project": "bread", "path": "dough/Salt myths.md", "grade": "3"}

    assert 403 == web.post("/judge", data=said, headers={"Origin": "http://evil.example"}).status_code


HOSTILE = {
    "a.md": "# <img src=x onerror=alert(1)>\n\nsalt </script><script>alert(2)</script> \"quoted\" & 'so' {{ 7 * 7 }}\n",
    "b.md": "# salt \u202egnp.exe\u200b\n\nsalt <iframe src=//evil.example></iframe> <!-- -->\n",
    "c.md": '---\ntitle: \'"><svg onload=alert(3)>\'\ntags: ["<b>"]\nx: <script>\n---\nsalt javascript:alert(4)\n',
    "long.md": "# long salt\n\n" + "salt and more of it, word upon word. " * 3_000,
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, served_home: Path) -> Iterator[httpx2.Client]:  # noqa: ARG001
    folder = tmp_path_factory.mktemp("x")
    index_vault(folder / "home", write_vault(folder / "<i>vault", HOSTILE), HashEmbedder(), name="<i>v")
    with running(folder / "home") as server, client_of(server) as client:
        client.base_url = f"http://127.0.0.1:{server.port}"  # type: ignore[assignment]
        yield client


LOOKS = ("/?q=salt", "/explain?q=salt", "/neighbors?text=salt", "/index")


@pytest.mark.parametrize(
    "path", [*LOOKS, *(f"/{page}?q=salt&note={name}" for page in ("note", "why") for name in HOSTILE)]
)
def test_text_stays_text(path: str, hostile: httpx2.Client) -> None:
    answer = hostile.get(path)
    tags = [tag for tag, _ in Read(answer.text).tags]

    assert 200 == answer.status_code
    assert not {"iframe", "i", "b", "img"} & set(tags)
    assert 2 == tags.count("script")
    assert "{{ 7 * 7 }}" in answer.text or not path.endswith("a.md") or path.startswith("/why")


def test_a_page_without_an_index_says_what_to_do(tmp_path: Path) -> None:
    with running(tmp_path / "home") as server, client_of(server) as client:
        client.base_url = f"http://127.0.0.1:{server.port}"  # type: ignore[assignment]

        assert "cutaway index FOLDER" in client.get("/").text
        assert 503 == client.get("/", params={"q": "salt"}).status_code


def test_an_address_keeps_what_it_was_not_asked_to_change() -> None:
    state = State({"q": ["a b"], "project": ["*"], "mode": ["text"], "page": ["3"], "note": ["n"], "by": [""]})

    assert "/?q=a%20b&project=%2A&mode=text&page=4" == state.link("/", page=4)
    assert "/note?q=a%20b&project=%2A&mode=text&page=3&note=x%26y" == state.link("/note", note="x&y")
    assert "/?project=%2A" == state.link("/", ("project",))
    assert "/" == state.link("/", ("q",), q=None)
