"""The documents tell the truth: examples show what the program prints, settings are those there are."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cutaway.config import Settings
from cutaway.faces.cli.main import main

ROOT = Path(__file__).parent.parent
EXAMPLE = re.compile(r"```console\n\$ (cutaway [^\n]*)\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def example_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The example vault, indexed with the real model."""
    home = tmp_path_factory.mktemp("home")
    vault = shutil.copytree(ROOT / "examples" / "vault", tmp_path_factory.mktemp("examples") / "bread")
    assert 0 == main(["index", str(vault), "--home", str(home)])
    yield home


def examples() -> list[tuple[str, str]]:
    return EXAMPLE.findall((ROOT / "README.md").read_text(encoding="utf-8"))


def outline(shown: str) -> list[str]:
    """Lines without numbers, bars and spacing: processors differ in the last digits of a model's output."""
    return [" ".join(re.sub(r"[\d.,…█▏▎▍▌▋▊▉]+", " ", line).split()) for line in shown.strip().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("command", [command for command, _ in examples()])
def test_an_example_prints_what_the_readme_shows(
    example_home: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    capsys.readouterr()
    assert 0 == main([*shlex.split(command)[1:], "--home", str(example_home)])
    shown = capsys.readouterr().out.rstrip()
    if os.environ.get("UPDATE_GOLDEN"):
        rewrite(command, shown)

    assert outline(dict(examples())[command]) == outline(shown)


def rewrite(command: str, shown: str) -> None:
    """Put what a command prints into the README, for a person to read."""
    readme = ROOT / "README.md"
    text = EXAMPLE.sub(
        lambda found: f"```console\n$ {command}\n{shown}\n```" if found[1] == command else found[0],
        readme.read_text(encoding="utf-8"),
    )
    readme.write_text(text, encoding="utf-8")


def shown(default: object) -> str:
    """A default as one writes it in TOML; what is not set has none."""
    return "" if default is None else f"`{str(default).lower() if isinstance(default, bool) else default}`"


def settings_table() -> str:
    """Every setting with its default, generated from the settings themselves."""
    rows = [
        f"| `{name}` | {shown(field.default)} | {field.description} |" for name, field in Settings.model_fields.items()
    ]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])


def test_the_settings_page_lists_every_setting() -> None:
    page = ROOT / "docs" / "settings.md"
    if os.environ.get("UPDATE_GOLDEN"):
        head = page.read_text(encoding="utf-8").split("| setting |")[0]
        page.write_text(f"{head}{settings_table()}\n", encoding="utf-8")

    assert settings_table() in page.read_text(encoding="utf-8")


def test_links_in_the_documents_lead_somewhere() -> None:
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
