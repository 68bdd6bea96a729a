"""Touches the files that hold keys: makes pairs, reads secrets that nobody else can read, follows the file of keys."""

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import zmq

from refloat_common.core.link.keys import KEY_CHARACTERS, ExecutorKeys, is_key, is_name
from refloat_common.core.settings import SettingsError, parse_settings

MAX_KEY_FILE_BYTES: Final = 4096
ReadTree = Callable[[Path], Mapping[str, object]]


class KeyFileError(ValueError):
    """A key file that can't be made or used."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class Secret:
    """A secret key. It shows itself to nobody who does not ask."""

    __slots__ = ("_z85",)

    def __init__(self, z85: bytes) -> None:
        self._z85 = z85

    def __repr__(self) -> str:
        return "Secret(…)"

    def reveal(self) -> bytes:
        """The key in Z85, for the socket."""
        return self._z85

    def public(self) -> bytes:
        """The public key that belongs to it, in Z85."""
        return bytes(zmq.curve_public(self._z85))


def new_secret() -> Secret:
    """A fresh key pair, by its secret half."""
    _public, secret = zmq.curve_keypair()
    return Secret(secret)


def make_pair(folder: Path, name: str) -> tuple[Path, Path, str]:
    """Write `NAME.public` and `NAME.secret` (mode 0600) into `folder`; the two paths and the public key.

    Raises:
        KeyFileError: a bad name, a file that is there already, or a folder that can't be written.
    """
    public_path, secret_path = folder / f"{name}.public", folder / f"{name}.secret"
    if not is_name(name):
        raise KeyFileError(secret_path, f"{name!r} is no name: at most 63 letters, digits, '-', '.' or '_'")
    for path in (public_path, secret_path):
        if path.exists() or path.is_symlink():
            raise KeyFileError(path, "is there already, and is not overwritten")
    secret = new_secret()
    public = secret.public().decode()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_new(secret_path, secret.reveal(), 0o600)
        try:
            _write_new(public_path, public.encode(), 0o644)
        except OSError:
            secret_path.unlink()
            raise
    except OSError as error:
        raise KeyFileError(Path(error.filename or folder), error.strerror or str(error)) from None
    return public_path, secret_path, public


def _write_new(path: Path, key: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as stream:
        os.fchmod(descriptor, mode)
        stream.write(key + b"\n")
        stream.flush()
        os.fsync(descriptor)


def read_secret(path: Path) -> Secret:
    """The secret key in a file that only its owner can read.

    A file that root owns may be readable for its group: Kubernetes mounts secrets so for users other than root.

    Raises:
        KeyFileError: it can't be read, others could read it, or it holds no secret key.
    """
    key, status = _read(path)
    mode = stat.S_IMODE(status.st_mode)
    allowed = 0o640 if status.st_uid == 0 and os.geteuid() != 0 else 0o600
    if status.st_uid not in (0, os.geteuid()):
        raise KeyFileError(path, f"belongs to user {status.st_uid}, not to this one ({os.geteuid()})")
    if mode & ~(allowed | 0o100):
        raise KeyFileError(path, f"its mode is {mode:04o}: others could read it; use chmod 600")
    try:
        secret = Secret(key.encode())
        secret.public()
    except zmq.ZMQError:
        raise KeyFileError(path, "does not hold a secret key") from None
    return secret


def read_public(path: Path) -> bytes:
    """The public key in a file, in Z85.

    Raises:
        KeyFileError: it can't be read, or holds no key.
    """
    key, _status = _read(path)
    return key.encode()


def _read(path: Path) -> tuple[str, os.stat_result]:
    try:
        with path.open("rb") as stream:
            status = os.fstat(stream.fileno())
            text = stream.read(MAX_KEY_FILE_BYTES).decode("ascii", "replace").strip()
    except OSError as error:
        raise KeyFileError(path, error.strerror or str(error)) from None
    if not is_key(text):
        raise KeyFileError(path, f"does not hold a key of {KEY_CHARACTERS} characters")
    return text, status


class KeyBook:
    """The file that says which key speaks for which executor, followed while it changes.

    A version that can't be used leaves the last good one in force: a slip of the pen must not cut every executor off.
    """

    def __init__(self, path: Path, read_tree: ReadTree) -> None:
        """Read the file once; `read_tree` reads YAML.

        Raises:
            ConfigFileError: the file can't be read.
            KeyFileError: it does not say what it should.
        """
        self._path = path
        self._read_tree = read_tree
        self._seen = self._signature()
        self._executors = self._load()

    def executor_of(self, public_key: str) -> str:
        """The executor that a key speaks for; empty if it speaks for nobody."""
        return self._executors.get(public_key, "")

    def refresh(self) -> bool:
        """Read the file again if it has changed; whether the keys have.

        Raises:
            ConfigFileError: it can't be read; once for each change of the file.
            KeyFileError: it does not say what it should; the same.
        """
        signature = self._signature()
        if signature == self._seen:
            return False
        self._seen = signature
        before = self._executors
        self._executors = self._load()
        return self._executors != before

    def _load(self) -> dict[str, str]:
        tree = self._read_tree(self._path)
        try:
            return parse_settings(ExecutorKeys, tree).by_key()
        except SettingsError as error:
            # It is not the file of settings that is at fault.
            raise KeyFileError(self._path, str(error)) from None

    def _signature(self) -> tuple[int, int, int]:
        try:
            status = self._path.stat()
        except OSError:
            return 0, 0, 0
        return status.st_ino, status.st_size, status.st_mtime_ns
