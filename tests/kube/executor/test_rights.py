"""Every verb of the Role is needed: without any one of them the story of a retry comes to a halt."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from testkit.live.product import NAMESPACE, Product, Setup
from testkit.live.retry import GROWS_AND_MOVES, LATE, Retry
from testkit.live.scene import Scene, scene_on
from testkit.real_kube import EXECUTOR, RealApi, Right, missing, rights

pytestmark = pytest.mark.kube

HALTED_S = 3.0
"""How long nothing may come of it once the server has refused: with all rights the story takes a second and a half."""
STEP_S = 30.0
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


class HaltedError(AssertionError):
    """The story has not come to its end although it has had the time since the server refused."""


@dataclass(slots=True)
class Refusal:
    """Looks for the server's refusal of a right in an executor's log."""

    product: Product
    executor: str
    right: Right
    at_s: float = 0.0

    def seen(self) -> bool:
        """Whether the server has refused."""
        words = json.dumps(f'cannot {self.right.verb} resource "{self.right.resource}"').strip('"')
        return self.product.crew.times_said(self.executor, words) > 0

    def look(self) -> None:
        """End the story that has halted.

        Raises:
            HaltedError: it has.
        """
        now_s = time.monotonic()
        if not self.at_s and self.seen():
            self.at_s = now_s
        if self.at_s and now_s - self.at_s > HALTED_S:
            raise HaltedError


@pytest.mark.parametrize("right", EVERY_RIGHT, ids=lambda right: f"{right.verb}-{right.resource}")
def test_without_this_verb_no_job_is_retried_and_with_it_the_next_one_is(hosted: Scene, right: Right) -> None:
    product, api = hosted.product, hosted.api
    name = product.layout.clusters[EVERY_RIGHT.index(right)]
    refusal = Refusal(product, name, right)
    story = Retry(product, hosted.kubelets, hosted.onlooker, STEP_S, name)
    hosted.kubelets.remove(LATE)
    try:
        with missing(api.admin, api.executor, EXECUTOR, right):
            product.start_executor(name, wait=False)
            with pytest.raises(AssertionError):
                replace(story, look=refusal.look).play(joins=LATE)
            assert refusal.seen(), product.log(name)
        story.play(joins=LATE)
        assert product.stop_executor(name) == 0
    finally:
        product.crew.stop([name])
        api.wipe_pods(NAMESPACE)
