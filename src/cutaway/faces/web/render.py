"""Templates: text of notes goes in as text, whatever it is, and comes out as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from cutaway.faces.schemas import HitOut
from cutaway.faces.snippets import densest
from cutaway.faces.web.views import AT_ONCE, condensed, meters

STATIC = Path(__file__).parent / "static"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def page(template: str, status: int, values: Mapping[str, Any]) -> HTMLResponse:
    """A page, or a part of one, that may load nothing but what is served here and run nothing inline."""
    text = _environment().get_template(template).render(values)
    return HTMLResponse(text, status, {"Content-Security-Policy": _POLICY})


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("cutaway.faces.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"marked": marked, "score": score, "count": count, "rank": rank, "heat": heat}
    made.filters |= {"meters": meters, "condensed": condensed}
    made.globals |= {"static": static, "at_once": AT_ONCE}
    return made


def marked(hit: HitOut, most: int = 320) -> Markup:
    """The densest stretch of a passage, its matched terms in `<mark>`."""
    start, end = densest(hit, most)
    parts, at = [Markup("…") if start > len(hit.passage) - len(hit.passage.lstrip()) else Markup()], start
    for first, last in hit.highlights:
        if at <= first and last <= end:
            parts += [escape(hit.passage[at:first]), Markup("<mark>{}</mark>").format(hit.passage[first:last])]
            at = last
    parts += [escape(hit.passage[at:end]), Markup("…") if end < len(hit.passage.rstrip()) else Markup()]
    return Markup().join(parts)


def score(value: float | None, digits: int = 3) -> str:
    """A score with as many digits as are read."""
    return "—" if value is None else f"{value:.{digits}f}"


def count(value: int) -> str:
    """A number with its thousands apart."""
    return f"{value:,}"


def rank(value: int | None) -> str:
    """A rank, where there is one."""
    return "—" if value is None else f"{value:,}"


def heat(value: float | None, among: Sequence[float]) -> int:
    """How close something is among others, from 0 to 8."""
    low, high = min(among), max(among)
    return 0 if value is None else 8 if low == high else round(8 * (value - low) / (high - low))


@cache
def static(name: str) -> str:
    """The address of a file beside the pages; it changes with the file, so that a browser may keep it."""
    return f"/static/{name}?{sha256((STATIC / name).read_bytes()).hexdigest()[:10]}"
