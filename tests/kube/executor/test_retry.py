"""The executor on a real API server: the whole way of one retry, with exactly the rights that it is given."""

import pytest

from testkit.live.retry import LATE, Retry
from testkit.live.scene import Scene

pytestmark = pytest.mark.kube


def test_a_failed_pod_is_gone_before_its_retry_is_created_larger_and_elsewhere(scene: Scene) -> None:
    product = scene.product
    job = Retry(product, scene.kubelets, scene.onlooker, 20.0, product.executor).play(joins=LATE)
    [verdict] = product.explanations(job)
    assert (verdict["category"], verdict["subcategory"], verdict["policy"]) == ("stopped", "hook", "grows-and-moves")
    assert [change["kind"] for change in verdict["mutations"]] == ["memory", "avoid"]
    assert [line for line in product.log() if line["level"] in ("warning", "error")] == []
