"""The pod spec of a lease: the submitted one, with everything that retries have changed applied to it."""

from refloat_common.core.jsontypes import JsonObject
from refloat_scheduler.core.model import MutationRecord
from refloat_scheduler.core.mutations.affinity import avoiding_spec
from refloat_scheduler.core.mutations.memory import grown_spec


def render_pod_spec(spec: JsonObject, record: MutationRecord, node_id_label: str) -> JsonObject:
    """The spec that an executor creates the pod from. `spec` itself is not changed.

    Always starts from what was submitted, so that rendering twice gives the same pod.

    Raises:
        PodSpecError: the spec can't be read (it was checked at submission).
    """
    return avoiding_spec(grown_spec(spec, record), node_id_label, record.avoid)
