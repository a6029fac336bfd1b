"""This file is about indexing that is killed or stopped: the index is sound at any moment, and the next run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from indexes import SOUND, faults, states

import builders
from builders import HashEmbedder, ask, index_vault, manifest, write_vault

pytestmark = pytest.mark.slow

# The child says each step it takes and, at the one named, waits for the signal: inside an open
# transaction (write, publish), in the model (vector), or between transactions (index, embed).
CHILD = """
import sys, time
from pathlib import Path
from builders import HashEmbedder
from cutaway.config import Settings
from cutaway.index.manifest import Manifest
from cutaway.index.store import open_writer
from cutaway.index.sync import embed_pending, sync
from cutaway.index.writer import Writer

home, vault, moment = sys.argv[1:]
steps = {}

def step(name):
    steps[name] = steps.get(name, 0) + 1
    if f"{name} {steps[name]}" == moment:
        print(moment, flush=True)
        time.sleep(600)

def telling(owner, name):
    original = getattr(owner, name)
    def told(*arguments):
        result = original(*arguments)
        step(name)
        return result
    setattr(owner, name, told)

class SlowEmbedder(HashEmbedder):
    def _vector(self, text):
        time.sleep(0.0002)
        step("vector")
        return super()._vector(text)

for owner, names in ((Writer, ("remove", "rename", "write")), (Manifest, ("adopt", "publish", "cache"))):
    for name in names:
        telling(owner, name)
connection, embedder = open_writer(Path(home)), SlowEmbedder()
with connection.transaction():
    project = Writer(connection).add_project("vault", Path(vault))
progress = lambda name, done, total: step(name)
sync(project, connection, embedder, Settings(), progress)
embed_pending([project], connection, embedder, progress)
"""

MOMENTS = ("adopt 1", "write 150", "index 1", "publish 3", "embed 1", "cache 1", "vector 150", "publish 7")


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred and forty notes, some passages of them alike."""
    text = "# Note {0}\n\nAbout subject{0} and theme{1}.\n\n- [fact] Theme {1} has many notes\n"
    folder = tmp_path_factory.mktemp("killed") / "vault"
    return write_vault(folder, {f"{number:03}.md": text.format(number, number % 7) for number in range(240)})


@pytest.fixture(scope="module")
def undisturbed(notes: Path) -> list[tuple[object, ...]]:
    """The manifest of an index whose making nobody disturbed."""
    home = notes.parent / "undisturbed"
    index_vault(home, notes, HashEmbedder())
    return manifest(home)


def stopped(home: Path, notes: Path, moment: str, how: signal.Signals) -> None:
    """Index in another process, and send it a signal at a moment."""
    path = os.pathsep.join([str(Path(builders.__file__).parent), *sys.path])
    command = [sys.executable, "-c", CHILD, str(home), str(notes), moment]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env={**os.environ, "PYTHONPATH": path}, **pipes) as child:
        assert child.stdout is not None
        reached = child.stdout.readline().strip()
        child.send_signal(how)
        _, said = child.communicate(timeout=60)
    assert moment == reached, said


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_index_whose_writer_was_killed_is_sound_and_is_finished_by_the_next_run(
    home: Path, notes: Path, undisturbed: list[tuple[object, ...]], moment: str
) -> None:
    """At once: a sound file in which every ready chunk has its vector. Afterwards: the index it would have been."""
    stopped(home, notes, moment, signal.SIGKILL)
    after_the_kill = faults(home)
    index_vault(home, notes, HashEmbedder())

    assert (SOUND, SOUND) == (after_the_kill, faults(home))
    assert undisturbed == manifest(home)


@pytest.mark.parametrize("moment", ["write 150", "vector 150"])
def test_an_index_whose_writer_was_interrupted_is_finished_by_the_next_run(
    home: Path, notes: Path, undisturbed: list[tuple[object, ...]], moment: str
) -> None:
    """Ctrl-C is no different."""
    stopped(home, notes, moment, signal.SIGINT)
    after_the_signal = faults(home)
    index_vault(home, notes, HashEmbedder())

    assert (SOUND, SOUND) == (after_the_signal, faults(home))
    assert undisturbed == manifest(home)


@pytest.mark.parametrize("moment", ["rename 20", "write 30", "publish 1"])
def test_a_killed_update_is_finished_by_the_next_run(
    home: Path, vault: Path, embedder: HashEmbedder, moment: str
) -> None:
    """Killed among removals, renames and edits, the index ends as one that was updated undisturbed."""
    twin = home.with_name("twin")
    write_vault(vault, {f"old/{number:02}.md": f"# Note {number}\n\nAbout subject{number}.\n" for number in range(60)})
    for place in (home, twin):
        index_vault(place, vault, embedder)
    (vault / "old").rename(vault / "new")
    (vault / "new" / "07.md").unlink()
    write_vault(vault, {"new/08.md": "Edited.", "new/extra.md": "Added."})

    stopped(home, vault, moment, signal.SIGKILL)
    after_the_kill = faults(home)
    for place in (home, twin):
        index_vault(place, vault, embedder)

    assert (SOUND, SOUND, SOUND) == (after_the_kill, faults(home), faults(twin))
    assert manifest(twin) == manifest(home)


def test_what_was_committed_before_a_kill_is_searchable_and_not_embedded_again(
    home: Path, notes: Path, embedder: HashEmbedder
) -> None:
    """Killed before its third batch, the index serves two batches; the next run embeds the rest and no more."""
    stopped(home, notes, "embed 3", signal.SIGKILL)
    ready = states(home)["ready"]
    (degraded,) = ask(home, "subject7", HashEmbedder()).degraded
    index_vault(home, notes, embedder)

    texts = {text_hash for *_, text_hash, _, _, _, _ in manifest(home)}
    assert f"partial_vectors: {ready} of 480" in degraded.reason
    assert len(texts) - 128 == len(embedder.embedded)
