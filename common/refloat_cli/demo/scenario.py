"""What the demo plays: which jobs there are, what their pods do, and how each job must end if the system is right.

The script of a pod goes to the fake kubelets as an annotation. What is expected goes to the judge alone.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self, cast

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from refloat_common.adapters.config_files import load_settings
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.quantity import parse
from refloat_common.core.settings import FileModel, Flag, Whole
from refloat_common.core.taxonomy import ANNOTATION_GANG_CARDINALITY, ANNOTATION_GANG_ID
from refloat_fakekube.core.play.script import read_script
from refloat_scheduler.core.policies.document import decode
from refloat_scheduler.core.policies.validation import write_error

SCRIPT_ANNOTATION = "fakekube.refloat.dev/script"
MAX_JOBS = 20_000


def _script(value: object) -> object:
    """A script is the name of one, or the JSON that the kubelets read; in the file it is a map."""
    return json.dumps(value, separators=(",", ":")) if isinstance(value, Mapping) else value


def _readable(script: str) -> str:
    """Refuses a script that the kubelets could not read."""
    read_script(script)
    return script


def _amount(text: str) -> str:
    """Refuses what is no quantity of Kubernetes."""
    parse(text)
    return text


def _policy(document: dict[str, object]) -> dict[str, object]:
    """Refuses a retry policy that the host would refuse."""
    if problem := write_error(decode(cast("JsonObject", document))):
        raise ValueError(problem)
    return document


class Expectation(FileModel):
    """How a job must end: its state, and the category (`name` or `name/subcategory`) of each failed run in order.

    `then_any` allows further failures of one category, as many as its budget lets happen: where chance decides whether
    a run meets a bad node. `moves`: no two runs of the job may be on one node.
    """

    state: Literal["succeeded", "failed"]
    failures: tuple[str, ...] = ()
    then_any: str = ""
    moves: Flag = False


class Part(FileModel):
    """One job of a kind; a kind with several is a gang."""

    script: Annotated[str, BeforeValidator(_script), AfterValidator(_readable)] = "succeed"
    memory: Annotated[str, AfterValidator(_amount)] = "64Mi"
    expect: Expectation


class Kind(FileModel):
    """Jobs that are alike. `share` says how many there are for each one of a kind with share 1."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")
    share: Annotated[Whole, Field(ge=1, le=1000)] = 1
    queue: str
    annotations: dict[str, str] = Field(default_factory=dict)
    jobs: Annotated[tuple[Part, ...], Field(min_length=1, max_length=16)]


class QueueChoice(FileModel):
    """A queue and the policy that is attached to it."""

    name: str
    policy: str = ""


class Scenario(FileModel):
    """A scenario file. `policies` are retry policies as an operator writes them."""

    policies: tuple[Annotated[dict[str, object], AfterValidator(_policy)], ...] = ()
    queues: Annotated[tuple[QueueChoice, ...], Field(min_length=1)]
    kinds: Annotated[tuple[Kind, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        """Every name stands once, and every name that is referred to stands there."""
        policies = [str(policy.get("name")) for policy in self.policies]
        queues = [queue.name for queue in self.queues]
        kinds = [kind.name for kind in self.kinds]
        for what, names in (("policies", policies), ("queues", queues), ("kinds", kinds)):
            for place, name in enumerate(names):
                if name in names[:place]:
                    raise ValueError(f"{what}[{place}].name: {name!r} is there twice")
        for place, queue in enumerate(self.queues):
            if queue.policy and queue.policy not in policies:
                raise ValueError(f"queues[{place}].policy: no policy is named {queue.policy!r}")
        for place, kind in enumerate(self.kinds):
            if kind.queue not in queues:
                raise ValueError(f"kinds[{place}].queue: no queue is named {kind.queue!r}")
        return self


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """One job of the demo: its name for people, where it goes, what its pod is, and how it must end."""

    name: str
    queue: str
    annotations: Mapping[str, str]
    memory: str
    expect: Expectation
    namespace: str = "default"

    def pod_spec(self) -> JsonObject:
        """The pod spec that is submitted."""
        amounts: JsonObject = {"cpu": "100m", "memory": self.memory}
        return {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": [
                {
                    "name": "main",
                    "image": "example.invalid/demo:1",
                    "command": ["work", self.name],
                    "resources": {"requests": amounts, "limits": amounts},
                }
            ],
        }


def load_scenario(file: Path) -> Scenario:
    """A scenario from its file.

    Raises:
        ConfigFileError: the file can't be read.
        SettingsError: it holds something that is no scenario.
    """
    return load_settings(Scenario, [file], environment={})


def plan(scenario: Scenario, count: int) -> list[PlannedJob]:
    """`count` jobs in the proportions of the shares; more where each kind once, and gangs whole, come to more.

    What the proportions leave over is filled up with the first kind.
    """
    total_share = sum(kind.share * len(kind.jobs) for kind in scenario.kinds)
    rounds = {kind.name: max(1, count * kind.share // total_share) for kind in scenario.kinds}
    planned = sum(rounds[kind.name] * len(kind.jobs) for kind in scenario.kinds)
    first = scenario.kinds[0]
    rounds[first.name] += max(0, -(-(count - planned) // len(first.jobs)))
    return [
        job for kind in scenario.kinds for number in range(1, rounds[kind.name] + 1) for job in _jobs_of(kind, number)
    ]


def _jobs_of(kind: Kind, number: int) -> Iterator[PlannedJob]:
    gang: dict[str, str] = {}
    if len(kind.jobs) > 1:
        gang = {ANNOTATION_GANG_ID: f"{kind.name}-{number}", ANNOTATION_GANG_CARDINALITY: str(len(kind.jobs))}
    for member, part in enumerate(kind.jobs):
        name = f"{kind.name}-{number}" + (f"-{'abcdefghijklmnop'[member]}" if gang else "")
        annotations = {**kind.annotations, **gang, SCRIPT_ANNOTATION: part.script}
        yield PlannedJob(name, kind.queue, annotations, part.memory, part.expect)
