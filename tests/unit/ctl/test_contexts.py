"""Which server is asked."""

import pytest

from refloat_ctl.core.contexts import Connection, Login, connection_of
from refloat_ctl.core.errors import UsageError
from refloat_ctl.core.text.reading import read_text

FILE = read_text(
    """
    currentContext: main
    contexts:
      main: {armadaUrl: "armada.example:443", basicAuth: {username: ann, password: secret}}
      plain: {ArmadaURL: "armada.example:50051", forceNoTls: true}
      local: {armadaUrl: "localhost:50051"}
      fancy: {armadaUrl: "armada.example:443", openIdAuth: {clientId: x}}
    """
)


@pytest.mark.parametrize(
    ("url", "context", "connection"),
    [
        (None, None, Connection("armada.example:443", secure=True, login=Login("ann", "secret"))),
        ("other:1", None, Connection("other:1", secure=True, login=Login("ann", "secret"))),
        (None, "plain", Connection("armada.example:50051", secure=False)),
        (None, "local", Connection("localhost:50051", secure=False)),
        ("127.0.0.1:7", "local", Connection("127.0.0.1:7", secure=False)),
    ],
)
def test_flags_win_over_the_file(url: str | None, context: str | None, connection: Connection) -> None:
    assert connection_of(FILE, url=url, context=context) == connection


@pytest.mark.parametrize(
    ("url", "secure"),
    [
        *(("localhost:1", False), ("127.0.0.1:1", False), ("[::1]:1", False), ("localhost", False)),
        *(("localhost.example:1", True), ("armada:443", True), ("128.0.0.1:1", True)),
    ],
)
def test_only_this_machine_is_asked_without_tls(url: str, secure: bool) -> None:  # noqa: FBT001  a parameter
    assert connection_of(None, url=url, context=None) == Connection(url, secure=secure)


def test_without_anything_it_is_this_machine() -> None:
    assert connection_of(None, url=None, context=None) == Connection("localhost:50051", secure=False)


def test_a_file_without_contexts_is_one_context() -> None:
    config = read_text("armadaUrl: a:1\nforceNoTls: true")
    assert connection_of(config, url=None, context=None) == Connection("a:1", secure=False)


@pytest.mark.parametrize(
    ("context", "why"),
    [
        ("nobody", "there is no context nobody in the configuration file; known: fancy, local, main, plain"),
        ("fancy", "the context uses openidauth, which refloatctl can't; use basicAuth or a proxy"),
    ],
)
def test_contexts_that_can_not_be_used(context: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        connection_of(FILE, url=None, context=context)
    assert str(caught.value) == why


def test_a_context_needs_a_file() -> None:
    with pytest.raises(UsageError, match="no configuration file was found; give one with --config"):
        connection_of(None, url=None, context="main")
