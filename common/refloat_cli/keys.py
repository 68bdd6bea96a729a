"""`refloat keys new`: makes the key pair of an executor or of the scheduler."""

import argparse
import sys
from pathlib import Path

from refloat_common.adapters.zmq_link.keys import KeyFileError, make_pair

EXIT_REFUSED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder that the two files go into")
    parser.add_argument("name", metavar="NAME", help="whose pair it is: an executor's id, or for example scheduler")


def run(arguments: argparse.Namespace) -> int:
    """Make the pair; print where it is, and the line that lists it."""
    try:
        public_path, secret_path, public = make_pair(arguments.out, arguments.name)
    except KeyFileError as error:
        sys.stderr.write(f"refloat keys new: {error}\n")
        return EXIT_REFUSED
    print(f"secret key: {secret_path} (mode 0600; give it to {arguments.name} alone)")
    print(f"public key: {public_path}")
    print("an executor's public key is listed in the scheduler's file of executor keys:")
    # Quoted: an executor may be named 7 or null.
    print(f'executors:\n  "{arguments.name}":\n    - "{public}"')
    return 0
