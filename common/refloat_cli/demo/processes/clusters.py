"""Watches the demo's clusters over their API, beside the executors: which pods were asked to go, and which are gone."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from refloat_fakekube.kubelet.client import Access, ApiClient
from refloat_fakekube.kubelet.reflector import Reflector


@dataclass(slots=True)
class Witness:
    """What was seen of the pods of one cluster, by uid."""

    phases: dict[str, str] = field(default_factory=dict)
    doomed: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)

    def tell(self, kind: str, pod: dict[str, Any]) -> None:
        """Take a line of the watch."""
        metadata = pod.get("metadata", {})
        uid = str(metadata.get("uid", ""))
        if kind == "DELETED":
            self.phases.pop(uid, None)
            self.doomed.add(uid)
            self.gone.add(uid)
            return
        self.phases[uid] = str(pod.get("status", {}).get("phase", ""))
        if metadata.get("deletionTimestamp"):
            self.doomed.add(uid)

    def counts(self) -> Counter[str]:
        """Living pods by phase."""
        return Counter(self.phases.values())


async def witness(access: Access, into: Witness) -> None:
    """Follow the pods of a cluster until cancelled."""
    async with ApiClient(access) as client:
        await Reflector(client, "/api/v1/pods", into.tell).run()
