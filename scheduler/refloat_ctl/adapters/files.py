"""Reads files that a person names, `-` for standard input, and the configuration file."""

import os
import sys
from pathlib import Path

from refloat_common.core.jsontypes import JsonValue
from refloat_ctl.core.errors import FileError
from refloat_ctl.core.text.reading import TextError, read_text

MAX_FILE_BYTES = 8 << 20
"""No larger message is taken by the server."""

CONFIG_FILE = ".refloatctl.yaml"
"""In the user's home: read where no file is named."""


def read_value(name: str) -> JsonValue:
    """The value of a YAML or JSON file.

    Raises:
        FileError: it can't be read.
    """
    try:
        return read_text(_text(name))
    except TextError as error:
        raise FileError(name, str(error)) from None


def read_config(name: str | None) -> JsonValue:
    """The value of the configuration file: the one named, else the user's own; None where that does not exist.

    Raises:
        FileError: it can't be read.
    """
    if name is not None:
        return read_value(name)
    own = Path(os.environ.get("HOME", "")) / CONFIG_FILE
    return read_value(str(own)) if own.is_file() else None


def _text(name: str) -> str:
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with Path(name).open("rb") as stream:
                raw = stream.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise FileError(name, f"is larger than {MAX_FILE_BYTES} bytes")
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise FileError(name, (error.strerror or str(error)).lower()) from None
    except UnicodeDecodeError:
        raise FileError(name, "is not UTF-8") from None
