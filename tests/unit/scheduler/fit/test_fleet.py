"""Which nodes could ever take a pod."""

import pytest

from refloat_common.core.messages import NodeFacts, TaintFact
from refloat_scheduler.core.fit.fleet import Fleet
from refloat_scheduler.core.model import MatchExpression, NodeTerm, Requirements, Toleration

NODE = NodeFacts(name="n1", labels={"zone": "z1", "cores": "16", "odd": "x"}, allocatable={"memory": "8Gi", "cpu": "4"})


def fits(node: NodeFacts = NODE, **changes: object) -> bool:
    return Fleet.of([node]).fits(Requirements(**changes))  # type: ignore[arg-type]  # the test says what it wants


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ({}, True),
        ({"memory": "8Gi", "cpu": "4000m"}, True),
        ({"memory": "8589934593"}, False),
        ({"cpu": "4001m"}, False),
        ({"nvidia.com/gpu": "1"}, False),
        ({"nvidia.com/gpu": "0"}, True),
    ],
)
def test_amounts(requests: dict[str, str], *, expected: bool) -> None:
    assert fits(requests=requests) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (MatchExpression("zone", "In", ("z0", "z1")), True),
        (MatchExpression("zone", "In", ()), False),
        (MatchExpression("none", "In", ("z1",)), False),
        (MatchExpression("zone", "NotIn", ("z1",)), False),
        (MatchExpression("zone", "NotIn", ("z2",)), True),
        (MatchExpression("none", "NotIn", ("z1",)), True),
        (MatchExpression("zone", "Exists"), True),
        (MatchExpression("none", "Exists"), False),
        (MatchExpression("zone", "DoesNotExist"), False),
        (MatchExpression("none", "DoesNotExist"), True),
        (MatchExpression("cores", "Gt", ("15",)), True),
        (MatchExpression("cores", "Gt", ("16",)), False),
        (MatchExpression("cores", "Lt", ("17",)), True),
        (MatchExpression("cores", "Lt", ("16",)), False),
        (MatchExpression("cores", "Gt", ("1", "2")), False),
        (MatchExpression("cores", "Gt", ("-1",)), True),
        (MatchExpression("odd", "Gt", ("1",)), False),
        (MatchExpression("cores", "Lt", ("y",)), False),
        (MatchExpression("none", "Gt", ("1",)), False),
        (MatchExpression("zone", "Near", ("z1",)), False),
    ],
)
def test_expressions(expression: MatchExpression, *, expected: bool) -> None:
    assert fits(node_terms=(NodeTerm((expression,)),)) is expected


def test_any_term_admits_a_node_and_every_expression_of_it_must_hold() -> None:
    yes, no = MatchExpression("zone", "Exists"), MatchExpression("none", "Exists")
    name = MatchExpression("metadata.name", "In", ("n1",))
    assert fits(node_terms=(NodeTerm((no,)), NodeTerm((yes,))))
    assert not fits(node_terms=(NodeTerm((yes, no)),))
    assert fits(node_terms=(NodeTerm((yes,), (name,)),))
    assert not fits(node_terms=(NodeTerm((no,), (name,)),))
    assert not fits(node_terms=())
    assert not fits(node_terms=(NodeTerm(),))


def test_node_selectors_must_all_hold() -> None:
    assert fits(node_selector={"zone": "z1", "odd": "x"})
    assert not fits(node_selector={"zone": "z1", "odd": "y"})
    assert not fits(node_selector={"none": ""})


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration("dedicated", "Equal", "gpu", "NoSchedule"), True),
        (Toleration("dedicated", "Equal", "gpu"), True),
        (Toleration("dedicated", "Exists"), True),
        (Toleration("", "Exists"), True),
        (Toleration("dedicated", "Equal", "cpu"), False),
        (Toleration("dedicated", "Equal", "gpu", "NoExecute"), False),
        (Toleration("other", "Exists"), False),
        (Toleration("dedicated", "Near", "gpu"), False),
    ],
)
def test_taints_keep_away_who_does_not_tolerate_them(toleration: Toleration, *, expected: bool) -> None:
    tainted = NodeFacts(name="n1", taints=[TaintFact(key="dedicated", value="gpu", effect="NoSchedule")])
    assert fits(tainted, tolerations=(toleration,)) is expected
    assert not fits(tainted)


@pytest.mark.parametrize(
    "taint",
    [
        TaintFact(key="dedicated", effect="PreferNoSchedule"),
        TaintFact(key="node.kubernetes.io/unschedulable", effect="NoSchedule"),
        TaintFact(key="node.kubernetes.io/not-ready", effect="NoExecute"),
        TaintFact(key="node.kubernetes.io/memory-pressure", effect="NoSchedule"),
    ],
)
def test_cordons_conditions_and_wishes_say_nothing_about_ever(taint: TaintFact) -> None:
    assert fits(NodeFacts(name="n1", taints=[taint], unschedulable=True))


def test_a_fleet_of_which_nothing_is_known_fits_nothing_and_refuses_nothing() -> None:
    assert not Fleet().fits(Requirements())
    assert Fleet().can_ever_fit(Requirements(requests={"memory": "1Ti"}))
    assert not Fleet.of([NODE]).can_ever_fit(Requirements(requests={"memory": "1Ti"}))


def test_an_amount_that_means_nothing_counts_as_none() -> None:
    assert not fits(NodeFacts(name="n1", allocatable={"memory": "lots"}), requests={"memory": "1"})


def test_obstacles_are_counted_by_the_first_on_each_node() -> None:
    dedicated = TaintFact(key="dedicated", value="gpu", effect="NoSchedule")
    nodes = [
        NodeFacts(name="n1", allocatable={"cpu": "4"}),
        NodeFacts(name="n2", allocatable={"cpu": "4"}, labels={"zone": "z1"}),
        NodeFacts(name="n3", allocatable={"cpu": "8"}),
        NodeFacts(name="n4", allocatable={"cpu": "8"}, labels={"zone": "z1"}),
        NodeFacts(name="n5", allocatable={"cpu": "8"}, labels={"zone": "z1", "fast": "y"}, taints=[dedicated]),
    ]
    wanted = Requirements(
        requests={"cpu": "8"},
        node_selector={"zone": "z1"},
        node_terms=(NodeTerm((MatchExpression("fast", "Exists"),)),),
    )
    assert not Fleet.of(nodes).fits(wanted)
    assert dict(Fleet.of(nodes).obstacles(wanted)) == {
        "less cpu than 8": 2,
        "no label zone=z1 among those that its executor tracks": 1,
        "no match for the node affinity among the labels that its executor tracks": 1,
        "taint dedicated=gpu:NoSchedule that is not tolerated": 1,
    }
    assert list(Fleet.of(nodes).obstacles(Requirements())) == ["taint dedicated=gpu:NoSchedule that is not tolerated"]
