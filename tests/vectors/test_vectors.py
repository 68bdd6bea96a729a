"""Every line of the vector files of each kind that Refloat answers."""

from collections import Counter

import pytest

from testkit.vectors.model import Vector, findings, read_vectors, vector_folder
from testkit.vectors.registry import known_kinds

VECTORS = read_vectors(vector_folder())
KINDS = known_kinds()
ANSWERED = [vector for vector in VECTORS if vector.kind in KINDS]
OTHERS = sorted(Counter(vector.kind for vector in VECTORS if vector.kind not in KINDS).items())


@pytest.mark.parametrize("vector", ANSWERED, ids=[vector.id for vector in ANSWERED])
def test_refloat_answers_as_armada_or_the_specification(vector: Vector) -> None:
    assert findings(KINDS[vector.kind], vector) == []


@pytest.mark.parametrize(("kind", "lines"), OTHERS, ids=[kind for kind, _ in OTHERS])
def test_kinds_without_a_module(kind: str, lines: int) -> None:
    pytest.skip(f"nothing answers the {lines} lines of kind {kind}: it has no module in testkit.vectors.kinds")
