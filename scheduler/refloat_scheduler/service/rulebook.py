"""Reads the retry policies again and again; the last good ones are served for as long as it takes."""

from dataclasses import dataclass, field

import anyio

from refloat_common.core.jsontypes import JsonValue
from refloat_scheduler.core.policies.cache import Refreshed, refresh_failed, refreshed
from refloat_scheduler.service.contract import PolicyDocument, StoreUnavailable
from refloat_scheduler.service.office import Office


@dataclass(slots=True)
class Rulebook:
    """The task that refreshes the policy cache every `period_s`, and whenever `bell` rings."""

    office: Office
    period_s: float
    bell: anyio.Event = field(default_factory=anyio.Event)

    async def run(self) -> None:
        """Refresh for ever, beginning a period from now."""
        while True:
            with anyio.move_on_after(self.period_s):
                await self.bell.wait()
            self.bell = anyio.Event()
            await self.refresh()

    async def refresh(self) -> None:
        """Read the policies once. A failure is said and counted, and changes nothing (specification: fails open)."""
        if not self.office.means.retry.enabled:
            return
        office = self.office
        answer: Refreshed
        try:
            documents = await office.means.host.load_policies()
        except StoreUnavailable as error:
            answer = refresh_failed(office.policies, str(error))
        else:
            answer = refreshed([_named(document) for document in documents], office.now_s())
        office.policies = answer.cache
        office.say(answer.notes)
        office.means.emit(answer.samples)


def _named(document: PolicyDocument) -> JsonValue:
    """The document with the name that it is stored under."""
    return {**document.body, "name": document.name}
