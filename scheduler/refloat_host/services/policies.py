"""Retry policies: create, replace, look up, remove."""

from collections.abc import Callable, Sequence

from refloat_common.core.clock import Clock
from refloat_common.core.jsontypes import JsonValue
from refloat_host.adapters.store.queries import catalog
from refloat_host.adapters.store.queries.catalog import StoredPolicy
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.adapters.store.writer import Store
from refloat_host.core.errors import InvalidFieldError, InvalidRetryPolicyError, NotFoundError, PolicyInUseError
from refloat_scheduler.core.policies.compiled import content_hash
from refloat_scheduler.core.policies.document import PolicyBody, PolicyDecodeError, decode, encode
from refloat_scheduler.core.policies.validation import write_error

KIND = "retry policy"
MAX_QUEUES_NAMED = 20
"""How many queues the refusal of a deletion names."""


def read_policy(document: JsonValue) -> PolicyBody:
    """A policy from its JSON form, checked.

    Raises:
        InvalidRetryPolicyError: it may not be stored.
    """
    try:
        policy = decode(document)
    except PolicyDecodeError as error:
        raise InvalidRetryPolicyError(str(error)) from error
    why = write_error(policy)
    if why or policy is None:
        raise InvalidRetryPolicyError(why or "it is null")
    return policy


class PolicyService:
    """The retry policies. The scheduler serves a change once its cache has refreshed, which `changed` asks for."""

    def __init__(self, store: Store, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self._store = store
        self._clock = clock
        self._changed = changed

    async def create(self, document: JsonValue) -> str:
        """Store a policy, given in the API's JSON form; one of the same name is replaced. Returns the name.

        Raises:
            InvalidRetryPolicyError: it may not be stored.
        """
        stored = self._stored(document)
        await self._store.transact(lambda tx: catalog.put_policy(tx.connection, stored))
        self._changed()
        return stored.name

    async def update(self, document: JsonValue) -> str:
        """Replace a policy; it stays attached where it is. Returns the name.

        Raises:
            InvalidRetryPolicyError: it may not be stored.
            NotFoundError: there is none of that name.
        """
        stored = self._stored(document)

        def work(tx: SqlTransaction) -> None:
            if catalog.policy(tx.connection, stored.name) is None:
                raise NotFoundError(KIND, stored.name)
            catalog.put_policy(tx.connection, stored)

        await self._store.transact(work)
        self._changed()
        return stored.name

    async def get(self, name: str) -> StoredPolicy:
        """One policy.

        Raises:
            InvalidFieldError: the name is empty.
            NotFoundError: there is none of that name.
        """
        _check_name(name)
        found = await self._store.read(lambda tx: catalog.policy(tx.connection, name))
        if found is None:
            raise NotFoundError(KIND, name)
        return found

    async def list(self) -> Sequence[StoredPolicy]:
        """All policies, in order of name."""
        return await self._store.read(lambda tx: catalog.policies(tx.connection))

    async def delete(self, name: str) -> bool:
        """Remove a policy; False if there was none.

        Raises:
            InvalidFieldError: the name is empty.
            PolicyInUseError: queues still reference it (specification, *Managing policies*); they are named.
        """
        _check_name(name)

        def work(tx: SqlTransaction) -> bool:
            if queues := catalog.queues_with(tx.connection, name, MAX_QUEUES_NAMED + 1):
                raise PolicyInUseError(name, queues[:MAX_QUEUES_NAMED], more=len(queues) > MAX_QUEUES_NAMED)
            return catalog.delete_policy(tx.connection, name)

        deleted = await self._store.transact(work)
        self._changed()
        return deleted

    def _stored(self, document: JsonValue) -> StoredPolicy:
        policy = read_policy(document)
        return StoredPolicy(policy.name, encode(policy), content_hash(policy), self._clock.utc_ms())


def _check_name(name: str) -> None:
    if not name:
        raise InvalidFieldError("name", name, "must not be empty: retry policy name must not be empty")
