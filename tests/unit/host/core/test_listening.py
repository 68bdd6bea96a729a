"""Where the management API may listen: refused by the settings, with field and value."""

import pytest

from refloat_common.core.settings import SettingsError, parse_settings
from refloat_host.core.listening import endpoint, loopback
from refloat_host.settings import GrpcSettings, HostSettings


@pytest.mark.parametrize(
    ("address", "bound"),
    [
        ("127.0.0.1", "127.0.0.1:50051"),
        ("127.8.0.1", "127.8.0.1:50051"),
        ("::1", "[::1]:50051"),
        ("localhost", "localhost:50051"),
        ("LOCALHOST", "LOCALHOST:50051"),
    ],
)
def test_loopback_is_taken(address: str, bound: str) -> None:
    assert endpoint(loopback(address), 50051) == bound


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0", "::", "10.0.0.1", "", "host.example", "127.0.0.1:1", "[::1]", "127.1", "::ffff:10.0.0.1", " "],
)
def test_any_other_address_is_refused_by_the_settings(address: str) -> None:
    tree = {"link": {"insecure": True}, "grpc": {"listenAddress": address}}
    with pytest.raises(SettingsError) as refused:
        parse_settings(HostSettings, tree)
    assert str(refused.value) == (
        "grpc.listenAddress: input should be a loopback address such as 127.0.0.1: the management API has no "
        f"permissions yet, so whoever reaches it may do everything, got {address!r}"
    )


def test_without_a_word_it_is_armadas_port_on_loopback() -> None:
    settings = GrpcSettings()
    assert endpoint(settings.listen_address, settings.port) == "127.0.0.1:50051"
