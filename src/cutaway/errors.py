"""Every error a caller may catch."""

from __future__ import annotations


class CutawayError(Exception):
    """Something the user can act on; the message says what happened and what to do next."""


class UsageError(CutawayError):
    """A request that cannot be carried out as asked."""


class SettingsError(UsageError):
    """A setting with an unknown name or a value out of range."""


class RootMissing(CutawayError):
    """A project's folder cannot be read; its index is kept as it was."""


class UnknownProject(UsageError):
    """No project of that name is in this index."""


class NoteNotFound(CutawayError):
    """No note answers to that path, title, permalink or alias."""


class NotIndexed(NoteNotFound):
    """A file of the project that the index does not hold."""

    def __init__(self, project: str, path: str, reason: str) -> None:
        super().__init__(f"not_indexed: {path} is a file of project {project}, but not in the index: {reason}")
        self.project, self.path, self.reason = project, path, reason


class AmbiguousNote(UsageError):
    """Several notes answer to the same name."""

    def __init__(self, name: str, candidates: tuple[str, ...]) -> None:
        listing = "\n".join(f"  {path}" for path in candidates)
        super().__init__(f"{name!r} names {len(candidates)} notes; give one of these paths:\n{listing}")
        self.candidates = candidates


class IndexMissing(CutawayError):
    """Nothing has been indexed in this home yet."""


class IndexBusy(CutawayError):
    """Another process is writing the index."""


class IndexMismatch(CutawayError):
    """The index was built with another schema or another model than the one in use."""


class IndexUnfinished(CutawayError):
    """The index is a copy that was not finished."""


class ModelUnavailable(CutawayError):
    """A model's files or packages are not installed, or not the ones we know; or nobody answers at its address."""


class TextRefused(CutawayError):
    """A model will not embed a text, most often because it is too long."""


class VectorsUnavailable(CutawayError):
    """The vectors' home cannot be reached or does not answer in time."""


class UnreadableQuery(UsageError):
    """A query in a script that the embedding model does not know; its words can still be searched."""


class StoreUnavailable(CutawayError):
    """The database of the index cannot be reached, or went away."""


class StateUnavailable(CutawayError):
    """The state file cannot be read or written."""


class RerankFailed(CutawayError):
    """The cross-encoder gave no scores, or scores that cannot be trusted."""


class StaleCursor(UsageError):
    """A cursor whose order no longer holds: the index, the settings or the outcome differ."""


class BadVector(CutawayError):
    """A vector that is not finite, is zero, or has the wrong dimension."""
