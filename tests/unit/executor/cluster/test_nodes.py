"""What is told of the nodes, and when."""

from refloat_common.core.messages import NodeFacts, TaintFact
from refloat_common.core.pods import Node, NodeSpec, NodeStatus, ObjectMeta, Taint
from refloat_executor.core.cluster.nodes import NodeBook, NodeDelta

HOST = "kubernetes.io/hostname"


def node(name: str, *, cpu: str = "8", zone: str = "z1", cordoned: bool = False, version: str = "1") -> Node:
    labels = {HOST: f"host-{name}", "zone": zone, "secret": "s"}
    meta = ObjectMeta(name=name, resource_version=version, labels=labels)
    spec = NodeSpec(unschedulable=cordoned, taints=[Taint("gpu", "", "NoSchedule")])
    return Node(meta, spec, NodeStatus(allocatable={"cpu": cpu}))


def facts(name: str, *, cpu: str = "8", cordoned: bool = False) -> NodeFacts:
    return NodeFacts(
        name=name,
        labels={HOST: f"host-{name}", "zone": "z1"},
        allocatable={"cpu": cpu},
        taints=[TaintFact(key="gpu", effect="NoSchedule")],
        unschedulable=cordoned,
    )


def book() -> NodeBook:
    return NodeBook((HOST, "zone", "absent"), HOST)


def test_only_what_the_scheduler_reads_is_a_change() -> None:
    nodes = book()
    assert nodes.upsert(node("a")) == NodeDelta(upserted=(facts("a"),))
    assert not nodes.upsert(node("a", version="2"))
    assert nodes.upsert(node("a", cpu="4")) == NodeDelta(upserted=(facts("a", cpu="4"),))
    assert nodes.upsert(node("a", cpu="4", cordoned=True)) == NodeDelta(upserted=(facts("a", cpu="4", cordoned=True),))


def test_a_list_is_compared_with_what_is_known() -> None:
    nodes = book()
    nodes.replace([node("a"), node("b")])
    assert nodes.replace([node("b"), node("c")]) == NodeDelta(upserted=(facts("c"),), removed=("a",))
    assert len(nodes) == 2
    assert not nodes.replace([node("b"), node("c")])


def test_a_node_that_goes_is_told_once_and_its_label_is_still_known() -> None:
    nodes = book()
    nodes.upsert(node("a"))
    assert nodes.remove(node("a")) == NodeDelta(removed=("a",))
    assert not nodes.remove(node("a"))
    assert (nodes.id_value("a"), nodes.id_value("never")) == ("host-a", "")


def test_a_node_without_anything() -> None:
    assert book().upsert(Node(ObjectMeta(name="x"))) == NodeDelta(upserted=(NodeFacts(name="x"),))


def test_a_label_that_is_not_tracked_is_not_told_in_reports_either() -> None:
    nodes = NodeBook(("zone",), HOST)
    nodes.upsert(node("a"))
    assert nodes.id_value("a") == ""
