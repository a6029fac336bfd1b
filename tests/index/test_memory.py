"""Memory: what indexing holds at once does not grow with the number of notes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders import write_vault

CHILD = """
import resource, sys
from pathlib import Path
from builders import index_vault
index_vault(Path(sys.argv[1]), Path(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(folder: Path, notes: int) -> int:
    """The most memory that indexing so many large notes took, in kilobytes."""
    text = "\n\n".join(f"paragraph {number} holds words enough to make a passage" for number in range(5_000))
    vault = write_vault(folder / "vault", {f"{number}.md": f"# Note {number}\n\n{text}" for number in range(notes)})
    tests = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tests), str(tests.parent / "src")))}
    command = [sys.executable, "-c", CHILD, str(folder / "home"), str(vault)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)


@pytest.mark.slow
def test_indexing_four_times_the_notes_takes_no_more_memory(tmp_path: Path) -> None:
    """A transaction ends early where notes are large."""
    few, many = peak(tmp_path / "few", 15), peak(tmp_path / "many", 60)

    assert many < 1.3 * few
