"""Which CURVE key speaks for which executor, as a person writes it: `executors: {ID: [PUBLIC KEY, ...]}`."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field, model_validator

from refloat_common.core.settings import FileModel

KEY_CHARACTERS: Final = 40
"""32 bytes in Z85 (ZeroMQ RFC 32)."""
MAX_EXECUTORS: Final = 1000
MAX_KEYS_PER_EXECUTOR: Final = 8
_KEY = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9._]{0,61}[A-Za-z0-9])?")


def is_key(text: str) -> bool:
    """Whether a text looks like a CURVE key in Z85."""
    return _KEY.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether a text can name an executor, and a key file: 63 letters, digits, `-`, `.`, `_`, a letter or digit at
    both ends.
    """  # noqa: D205  one sentence
    return _NAME.fullmatch(text) is not None


def _checked_key(text: str) -> str:
    if not is_key(text):
        raise ValueError(f"input should be a public key of {KEY_CHARACTERS} characters")
    return text


def _checked_name(text: str) -> str:
    if not is_name(text):
        raise ValueError("input should be an executor's name: at most 63 letters, digits, '-', '.' or '_'")
    return text


PublicKey = Annotated[str, AfterValidator(_checked_key)]
ExecutorName = Annotated[str, AfterValidator(_checked_name)]


class ExecutorKeys(FileModel):
    """The file of keys. Several keys of one executor let an old one and a new one overlap."""

    executors: dict[ExecutorName, Annotated[list[PublicKey], Field(max_length=MAX_KEYS_PER_EXECUTOR)]] = Field(
        default_factory=dict, max_length=MAX_EXECUTORS
    )

    @model_validator(mode="after")
    def _each_key_once(self) -> "ExecutorKeys":
        owners: dict[str, str] = {}
        for executor, keys in self.executors.items():
            for key in keys:
                owner = owners.setdefault(key, executor)
                if owner != executor:
                    raise ValueError(f"key {key[:8]}… stands under both {owner} and {executor}")
        return self

    def by_key(self) -> dict[str, str]:
        """From each public key to the executor that it speaks for."""
        return {key: executor for executor, keys in self.executors.items() for key in keys}
