"""How a fake API server is set up: address, token, certificate, limits and intervals."""

from dataclasses import dataclass, field
from pathlib import Path

from refloat_fakekube.core.store.tables import DEFAULT_LIMITS, HistoryLimits


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Everything a server can be told; the defaults are plain HTTP on a free loopback port.

    `cert_file` and `key_file`: PEM files; with them the server speaks TLS.

    `bookmark_interval_s`: how often a watch that allows bookmarks gets one (the real server: about a minute).
    `watch_timeout_s`: how long a watch without `timeoutSeconds` lasts (the real server: 30 to 60 minutes).
    `watch_backlog_bytes`: what one slow watcher may leave unread before its stream is ended.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(default="", repr=False)
    cert_file: Path | None = None
    key_file: Path | None = None
    body_limit_bytes: int = 3 << 20
    bookmark_interval_s: float = 10.0
    watch_timeout_s: float = 1800.0
    watch_backlog_bytes: int = 256 << 20
    history: HistoryLimits = DEFAULT_LIMITS
