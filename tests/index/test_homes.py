"""A vector home may come from another package, which registers it under a name of its own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders import HashEmbedder, ask, index_vault, paths, write_vault
from cutaway.config import Settings
from cutaway.errors import SettingsError
from cutaway.index import homes
from cutaway.index.exact import ExactIndex
from cutaway.index.homes import GROUP, home, home_of

Install = Callable[..., None]

MODULE = """
from cutaway.index.exact import ExactIndex

class Shelf(ExactIndex):
    identity = "shelf-f16/v1"

class Cellar(ExactIndex):
    pass
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution on the path that registers homes, as an installer would."""

    def installed(name: str = "cutaway-shelf", **offers: str) -> None:
        site = tmp_path / name
        lines = "".join(f"{offer} = {value}\n" for offer, value in offers.items())
        write_vault(
            site,
            {
                "shelf_homes.py": MODULE,
                f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
                f"{name}-1.0.dist-info/entry_points.txt": f"[{GROUP}]\n{lines}",
            },
        )
        monkeypatch.syspath_prepend(site)
        importlib.invalidate_caches()

    yield installed
    sys.modules.pop("shelf_homes", None)


def test_a_registered_home_is_found_by_its_name(install: Install) -> None:
    """As the setting names it, and by the identity of vectors that are held already."""
    install(shelf="shelf_homes:Shelf")

    assert "shelf-f16/v1" == home("shelf").identity == home_of("shelf-f16/v1").identity


def test_a_vault_is_searched_in_a_registered_home(
    install: Install, home: Path, vault: Path, embedder: HashEmbedder
) -> None:
    """From the setting to the answer, with nothing else to do."""
    install(shelf="shelf_homes:Shelf")
    settings = Settings(vectors="shelf")
    index_vault(home, write_vault(vault, {"a.md": "red sun", "b.md": "green sea"}), embedder, settings)
    answer = ask(home, "red", embedder, settings, mode="vector")

    assert ("a.md", ()) == (paths(answer)[0], answer.degraded)


def test_what_is_built_in_asks_no_other_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking through installed packages takes time; the default pays none of it."""
    monkeypatch.setattr(homes, "entry_points", lambda **_: pytest.fail("looked for other packages"))

    assert ExactIndex is home("exact") is home_of(ExactIndex.identity)


def test_an_unknown_name_says_which_there_are(install: Install) -> None:
    """Ours, and those of other packages."""
    install(shelf="shelf_homes:Shelf", attic="shelf_homes:Attic")

    with pytest.raises(SettingsError, match=r"vectors = 'shelv' is not known; choose one of exact, .*attic, shelf\."):
        home("shelv")


@pytest.mark.parametrize(
    ("offers", "reason"),
    [
        ({"exact": "shelf_homes:Shelf"}, "cutaway-shelf registers 'exact' as a vector home, which is a built-in one"),
        ({"shelf": "shelf_homes:Missing"}, "'shelf' of cutaway-shelf cannot be loaded: .*Missing"),
        ({"shelf": "no_such_module:Shelf"}, "'shelf' of cutaway-shelf cannot be loaded: .*no_such_module"),
        ({"shelf": "shelf_homes:Cellar"}, "'shelf' of cutaway-shelf needs an identity 'shelf-…'"),
    ],
    ids=["name of ours", "no such class", "no such module", "identity of another"],
)
def test_a_registration_that_cannot_be_used_is_refused(install: Install, offers: dict[str, str], reason: str) -> None:
    """The package is named, and what is wrong with what it says."""
    install(**offers)

    with pytest.raises(SettingsError, match=reason):
        home("shelf")


def test_a_name_that_two_packages_register_is_refused(install: Install) -> None:
    """Which one would hold the vectors must not depend on the order of a path."""
    install("one", shelf="shelf_homes:Shelf")
    install("two", shelf="shelf_homes:Cellar")

    with pytest.raises(SettingsError, match=r"registered by (one and two|two and one)"):
        home("shelf")
