"""A few vectors as points of a plane: a picture, from which nothing can be measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cutaway.index.vectors import Vector


def flattened(vectors: Sequence[Vector]) -> tuple[tuple[float, float], ...]:
    """Where each lies along the two directions in which they differ most (principal components), from -1 to 1."""
    rows = np.array(vectors, np.float64).reshape(len(vectors), -1)
    if len(rows) < 2:
        return ((0.0, 0.0),) * len(rows)
    rows -= rows.mean(axis=0)
    _, _, directions = np.linalg.svd(rows, full_matrices=False)
    points = np.zeros((len(rows), 2))
    for axis, direction in enumerate(directions[:2]):
        sign = np.sign(direction[np.argmax(np.abs(direction))]) or 1.0  # either way round is right: always this one
        points[:, axis] = sign * (rows @ direction)
    points /= np.abs(points).max() or 1.0
    return tuple((round(x, 3) + 0.0, round(y, 3) + 0.0) for x, y in points.tolist())
