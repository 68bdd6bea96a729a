"""One run of the command: its options, its output, its connection."""

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_ctl.adapters.files import read_config
from refloat_ctl.adapters.server.channel import Channel
from refloat_ctl.core.contexts import connection_of
from refloat_ctl.core.errors import ActionError, RefusedError
from refloat_ctl.core.resources.envelope import head_for
from refloat_ctl.core.text.json_out import write_json
from refloat_ctl.core.text.writing import write_document, write_yaml


class Session:
    """What every command gets."""

    def __init__(self, options: Namespace) -> None:
        self.options = options

    def say(self, text: str) -> None:
        """Print to standard output, at once."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Print a line of progress to standard error."""
        sys.stderr.write(f"{text}\n")

    @contextmanager
    def server(self, action: str, remedies: JsonObject | None = None) -> Iterator[Channel]:
        """A connection for one action, which is named if it is refused (`creating queue q`).

        Args:
            action: what is being done.
            remedies: the way out by the name of gRPC's status code.

        Raises:
            ActionError: the server refused, or could not be reached.
        """
        options = self.options
        connection = connection_of(read_config(options.config), url=options.armada_url, context=options.context)
        with Channel(connection) as channel:
            try:
                yield channel
            except RefusedError as error:
                raise ActionError(action, error, str((remedies or {}).get(error.code, ""))) from None

    def show(self, kind: str, body: JsonObject, table: str) -> None:
        """Print a thing of the API in the form that was asked for, YAML unless said otherwise."""
        match self.options.output:
            case "json":
                self.say(write_json({**head_for(kind), **body}))
            case "table":
                self.say(table)
            case _:
                self.say(write_document(head_for(kind), body))

    def show_report(self, report: msgspec.Struct | Sequence[msgspec.Struct], text: str) -> None:
        """Print an answer in the form that was asked for, a text for a reader unless said otherwise."""
        value: JsonValue = msgspec.to_builtins(report)
        match self.options.output:
            case "json":
                self.say(write_json(value))
            case "yaml":
                self.say(write_yaml(value))
            case _:
                self.say(text)
