"""Every verb of the Role is needed: without any one of them the story of a retry comes to a halt."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from testkit.live.product import NAMESPACE, Setup
from testkit.live.retry import GROWS_AND_MOVES, LATE, Retry
from testkit.live.scene import Scene, scene_on
from testkit.real_kube import EXECUTOR, RealApi, Right, missing, rights

pytestmark = pytest.mark.kube

WITHOUT_S, WITH_S = 3.0, 30.0
"""How long a step may take: without the right it must not come about, with all rights it always does."""
EVERY_RIGHT = rights()


@pytest.fixture(scope="module")
def hosted(real_api: RealApi, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A host with an executor of its own for each right; none of them runs yet."""
    setup = Setup(
        policies=[GROWS_AND_MOVES],
        queues={"q": str(GROWS_AND_MOVES["name"])},
        executors=len(EVERY_RIGHT),
        executor={"kubernetes": {"stuckTerminatingPodExpiry": "1s"}},
    )
    with scene_on(real_api, tmp_path_factory.mktemp("rights"), setup, executor=False) as scene:
        yield scene


@pytest.mark.parametrize("right", EVERY_RIGHT, ids=lambda right: f"{right.verb}-{right.resource}")
def test_without_this_verb_no_job_is_retried_and_with_it_the_next_one_is(hosted: Scene, right: Right) -> None:
    product, api = hosted.product, hosted.api
    name = product.layout.clusters[EVERY_RIGHT.index(right)]
    story = Retry(product, hosted.kubelets, hosted.onlooker, WITHOUT_S, name)
    hosted.kubelets.remove(LATE)
    with missing(api.admin, api.executor, EXECUTOR, right):
        product.start_executor(name, wait=False)
        with pytest.raises(AssertionError):
            story.play(joins=LATE)
    refused = f'cannot {right.verb} resource "{right.resource}"'
    assert any(refused in str(line.get("answer")) for line in product.log(name)), product.log(name)
    replace(story, within_s=WITH_S).play(joins=LATE)
    assert product.stop_executor(name) == 0
    api.wipe_pods(NAMESPACE)
