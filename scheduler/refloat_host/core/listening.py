"""Decides which addresses the management API may listen on.

The API does not know yet who may do what, so it listens where only this machine can reach it.
"""

import ipaddress
from typing import Annotated, TypeAlias

from pydantic import AfterValidator

_LOOPBACK_NAME = "localhost"
_SIX = 6


class NotLoopbackError(ValueError):
    """The address can be reached from other machines, or is a name that may mean one."""

    def __init__(self) -> None:
        super().__init__(
            "input should be a loopback address such as 127.0.0.1: the management API has no permissions yet, so "
            "whoever reaches it may do everything"
        )


def loopback(address: str) -> str:
    """The address, if only this machine reaches it.

    Raises:
        NotLoopbackError: it can be reached from elsewhere.
    """
    if address.lower() == _LOOPBACK_NAME:
        return address
    try:
        if ipaddress.ip_address(address).is_loopback:
            return address
    except ValueError:
        # Any other name may mean another machine tomorrow.
        pass
    raise NotLoopbackError


def endpoint(address: str, port: int) -> str:
    """Address and port as gRPC writes them; an IPv6 address stands in brackets."""
    bracketed = address.lower() != _LOOPBACK_NAME and ipaddress.ip_address(address).version == _SIX
    return f"[{address}]:{port}" if bracketed else f"{address}:{port}"


LoopbackAddress: TypeAlias = Annotated[str, AfterValidator(loopback)]
"""A setting that holds a loopback address, without a port."""
