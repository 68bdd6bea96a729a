"""What a test looks at in a whole system: where runs were, what pods ask for."""

from refloat_common.core.ids import JobId
from refloat_fakekube.core.objects import Json, objects, text
from testkit.whole.system import System


async def nodes_of_runs(s: System, job_id: JobId) -> list[str]:
    """The node of each run of a job, in order."""
    return [run.node for run in (await s.job(job_id)).runs]


def memory_of(pod: Json | None) -> dict[str, str]:
    """What the only container of a pod may and must have."""
    assert pod is not None
    [container] = objects(pod, "spec", "containers")
    return {kind: text(container, "resources", kind, "memory") for kind in ("requests", "limits")}
