"""Decides which server is asked, and how: from the flags and the configuration file, whose form is armadactl's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_ctl.core.errors import UsageError

DEFAULT_URL: Final = "localhost:50051"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_AUTH_KEYS: Final = frozenset(
    {"kubernetesnativeauth", "openidauth", "openiddeviceauth", "openidpasswordauth", "openidclientcredentialsauth"}
    | {"openidkubernetesauth", "execauth"}
)


@dataclass(frozen=True, slots=True)
class Login:
    """A name and a password (`basicAuth`)."""

    username: str
    password: str


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the server is. `secure` is with TLS, by the system's certificates."""

    url: str
    secure: bool
    login: Login | None = None


def connection_of(config: JsonValue, *, url: str | None, context: str | None) -> Connection:
    """What to connect to.

    Args:
        config: the configuration file's value; None where there is no file.
        url: `--armadaUrl`, which wins over the context's.
        context: `--context`, which wins over the file's `currentContext`.

    Raises:
        UsageError: there is no such context, or it asks for what this command can't do.
    """
    chosen = _folded(_context(config, context))
    if unknown := sorted(_AUTH_KEYS & set(chosen)):
        raise UsageError(f"the context uses {unknown[0]}, which refloatctl can't; use basicAuth or a proxy")
    target = url or _text(chosen, "armadaurl") or DEFAULT_URL
    plain = chosen.get("forcenotls") is True or is_loopback(target)
    return Connection(target, secure=not plain, login=_login(chosen.get("basicauth")))


def is_loopback(url: str) -> bool:
    """Whether a server is on this machine, where TLS would protect nothing."""
    return url.rpartition(":")[0] in _LOOPBACK or url in _LOOPBACK


def _context(config: JsonValue, name: str | None) -> JsonObject:
    if config is None:
        if name:
            raise UsageError(f"there is no context {name}: no configuration file was found; give one with --config")
        return {}
    if not isinstance(config, Mapping):
        raise UsageError("the configuration file must be a map of keys to values")
    keys = _folded(config)
    current = name or _text(keys, "currentcontext")
    if not current:
        return config
    contexts = keys.get("contexts")
    found = contexts.get(current) if isinstance(contexts, Mapping) else None
    if not isinstance(found, Mapping):
        known = ", ".join(sorted(contexts)) if isinstance(contexts, Mapping) else ""
        raise UsageError(f"there is no context {current} in the configuration file; known: {known or 'none'}")
    return found


def _folded(values: JsonObject) -> dict[str, JsonValue]:
    return {key.casefold(): item for key, item in values.items()}


def _text(values: JsonObject, key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _login(value: JsonValue) -> Login | None:
    if not isinstance(value, Mapping):
        return None
    found = _folded(value)
    name = _text(found, "username")
    return Login(name, _text(found, "password")) if name else None
