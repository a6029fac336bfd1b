"""The laws of a vector home, for whoever writes one to run: docs/vector-homes.md shows how.

They need pytest and hypothesis: ``pip install 'cutaway[conformance]'``.
"""

import pytest

# Before the laws are imported: a failure then shows its values.
for _laws in ("order", "scope", "changes", "stored", "scale", "backed"):
    pytest.register_assert_rewrite(f"{__name__}.{_laws}")

from cutaway.conformance.backed import Open  # noqa: E402
from cutaway.conformance.changes import ChangeLaws  # noqa: E402
from cutaway.conformance.order import OrderLaws  # noqa: E402
from cutaway.conformance.reference import ReferenceIndex  # noqa: E402
from cutaway.conformance.scale import ScaleLaws  # noqa: E402
from cutaway.conformance.scope import ScopeLaws  # noqa: E402
from cutaway.conformance.stored import StoredLaws  # noqa: E402

__all__ = ["Open", "ReferenceIndex", "VectorIndexLaws"]


class VectorIndexLaws(OrderLaws, ScopeLaws, ChangeLaws, StoredLaws, ScaleLaws):
    """Every law. A subclass named ``Test…`` says what it opens in ``backend``."""
