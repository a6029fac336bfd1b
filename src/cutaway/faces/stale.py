"""The JSON of `inspect stale`: what lags behind, and what mends it."""

from __future__ import annotations

from itertools import groupby

from pydantic import Field

from cutaway.faces.asked import ScopeIn
from cutaway.faces.schemas import Out
from cutaway.faces.sessions import Session
from cutaway.inspector.stale import MEANINGS, Behind, Lag, behind


class LaggingOut(Out):
    """A note, in one of the ways in which it lags."""

    project: str
    path: str | None = Field(description="The note's path in its project; null where the whole project lags.")
    reason: str | None = Field(description="What is special about this note; null where the kind says it all.")
    chunks: int | None = Field(description="How many of its passages; null where it is not about passages.")


class LagOut(Out):
    """A way to lag, what mends it, and every note of the scope that lags so."""

    kind: str
    meaning: str
    notes: int = Field(description="How many notes, files or folders lag in this way.")
    chunks: int = Field(description="How many passages; 0 where it is not about passages.")
    mend: str = Field(description="The command that mends it, after what must be done before.")
    lagging: tuple[LaggingOut, ...]

    @classmethod
    def of(cls, kind: str, mend: str, lags: list[Lag]) -> LagOut:
        return cls(
            kind=kind,
            meaning=MEANINGS[lags[0].kind],
            notes=len({(lag.project, lag.path) for lag in lags}),
            chunks=sum(lag.chunks or 0 for lag in lags),
            mend=mend,
            lagging=tuple(
                LaggingOut(project=lag.project, path=lag.path, reason=lag.reason, chunks=lag.chunks) for lag in lags
            ),
        )


class StaleOut(Out):
    """Every note of the scope whose index lags."""

    projects: tuple[str, ...] = Field(description="The projects looked at.")
    stale: bool = Field(description="Whether anything lags; `--check` makes the exit code 1 then.")
    notes: int = Field(description="How many notes the index holds in this scope.")
    fresh: int = Field(description="How many of them lag in no way.")
    lags: tuple[LagOut, ...] = Field(description="By kind and by what mends it; a note may stand in several.")
    remarks: tuple[str, ...] = Field(description="What was not judged, and why.")

    @classmethod
    def of(cls, found: Behind, projects: tuple[str, ...]) -> StaleOut:
        order = list(MEANINGS)
        lags = sorted(found.lags, key=lambda lag: (order.index(lag.kind), lag.mend, lag.project, lag.path or ""))
        grouped = groupby(lags, key=lambda lag: (lag.kind, lag.mend))
        return cls(
            projects=projects,
            stale=bool(lags),
            notes=found.notes,
            fresh=found.fresh,
            lags=tuple(LagOut.of(kind, mend, list(group)) for (kind, mend), group in grouped),
            remarks=found.remarks,
        )


def lagging(session: Session, asked: ScopeIn) -> StaleOut:  # noqa: ARG001 - the session has its scope
    """Every note of the scope whose index lags."""
    found = behind(session.reader, session.base, session.embedder())
    return StaleOut.of(found, tuple(project.name for project in session.reader.scope))
