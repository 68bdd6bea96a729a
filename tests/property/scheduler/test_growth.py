"""Quantities and growth over arbitrary amounts."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.quantity import NANO, Format, Quantity, parse
from refloat_scheduler.core.fit.requirements import requirements_of
from refloat_scheduler.core.model import MutationRecord, Requirements
from refloat_scheduler.core.mutations.memory import grow
from refloat_scheduler.core.mutations.render import render_pod_spec
from refloat_scheduler.core.policies.compiled import Mutation

QUANTITIES = st.builds(Quantity, st.integers(-(10**40), 10**40), st.sampled_from(list(Format)))
TEXTS = st.from_regex(r"\A[+-]?[0-9]{0,20}(\.[0-9]{0,12})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?\Z")
AMOUNTS = st.sampled_from(["1", "333333333", "100M", "1Gi", "1.5Gi", "64Gi", "512Gi", "500m", "7e9"])
FACTORS = st.floats(1.0000001, 1000.0)


@given(QUANTITIES)
def test_the_canonical_text_means_the_same(quantity: Quantity) -> None:
    assert parse(str(quantity)).nanos == quantity.nanos
    # In the same format: 5000 bytes in binary are "5000", which is read back as a decimal quantity and written "5k".
    assert str(Quantity(parse(str(quantity)).nanos, quantity.format)) == str(quantity)


@given(TEXTS)
def test_every_text_of_the_right_shape_is_read(text: str) -> None:
    if text:
        quantity = parse(text)
        assert str(parse(str(quantity))) == str(quantity)


@given(QUANTITIES, QUANTITIES)
def test_sums_are_exact(left: Quantity, right: Quantity) -> None:
    assert (left + right).nanos == left.nanos + right.nanos == (right + left).nanos


@given(st.integers(0, 10**30), st.floats(1.0, 1e12))
def test_products_are_rounded_to_the_right_side_of_the_exact_one(units: int, factor: float) -> None:
    quantity = Quantity(units * NANO)
    exact = Fraction(repr(factor)) * units
    slack = 1 + exact / 2**52
    assert exact - slack <= quantity.times_down(factor).units <= exact + slack
    assert exact - slack <= quantity.times_up(factor).units <= exact + slack
    assert quantity.times_down(factor).units <= quantity.times_up(factor).units


def container(name: str, request: str, *, sidecar: bool = False) -> JsonObject:
    always = {"restartPolicy": "Always"} if sidecar else {}
    return {"name": name, "resources": {"requests": {"memory": request}, "limits": {"memory": request}}, **always}


def units(spec: JsonObject) -> int:
    return parse(requirements_of(spec).requests["memory"]).units


@given(st.lists(AMOUNTS, min_size=1, max_size=4), st.lists(AMOUNTS, max_size=2), st.lists(AMOUNTS, max_size=2), AMOUNTS)
def test_a_fixed_amount_is_given_out_once(main: list[str], sidecars: list[str], inits: list[str], static: str) -> None:
    spec: JsonObject = {
        "containers": [container(f"c{i}", amount) for i, amount in enumerate(main)],
        "initContainers": [
            *(container(f"i{i}", amount) for i, amount in enumerate(inits)),
            *(container(f"s{i}", amount, sidecar=True) for i, amount in enumerate(sidecars)),
        ],
    }
    grown = render_pod_spec(spec, MutationRecord(memory_static=static), "l")
    added = units(grown) - units(spec)
    containers = len(main) + len(sidecars)
    assert parse(static).units - containers <= added <= parse(static).units + containers + len(inits)


@given(AMOUNTS, st.lists(FACTORS, min_size=1, max_size=4))
def test_a_pod_grown_by_factors_fits_what_was_probed(request: str, factors: list[float]) -> None:
    spec: JsonObject = {"containers": [container("c", request)]}
    record, requirements = MutationRecord(), requirements_of(spec)
    for factor in factors:
        grown = grow("job-a", record, requirements, Mutation(memory_factor=factor))
        assert grown is not None
        record, requirements = grown.record, grown.requirements
    rendered = render_pod_spec(spec, record, "l")
    # Several factors are one product in double precision; the reservation is rounded up after each.
    assert units(rendered) <= parse(requirements.requests["memory"]).units * (1 + 1e-12)
    assert record.version == len(factors)


@given(AMOUNTS, st.lists(AMOUNTS, min_size=1, max_size=4))
def test_fixed_amounts_add_up_exactly(request: str, bumps: list[str]) -> None:
    record, requirements = MutationRecord(), Requirements(requests={"memory": request})
    for bump in bumps:
        grown = grow("job-a", record, requirements, Mutation(memory_static=parse(bump)))
        assert grown is not None
        record, requirements = grown.record, grown.requirements
    total = sum(parse(bump).nanos for bump in bumps)
    assert parse(record.memory_static).nanos == total
    assert parse(requirements.requests["memory"]).nanos == parse(request).nanos + total
