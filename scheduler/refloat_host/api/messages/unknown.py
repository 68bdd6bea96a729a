"""Refuses what a message says in fields that this version has no name for.

protobuf drops such fields without a word. What is stored must not lose a part of its meaning like that: a retry rule
without the matcher that a newer client gave it would match more than it should.
"""

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from refloat_host.core.errors import InvalidFieldError


def refuse_unknown_fields(message: Message, path: str = "") -> None:
    """Look through a message and all that it holds.

    Raises:
        InvalidFieldError: a field has a number that this version does not know.
    """
    unknown = UnknownFieldSet(message)
    if len(unknown):
        why = "is the number of a field that this version does not know"
        raise InvalidFieldError(path or message.DESCRIPTOR.name, unknown[0].field_number, why)
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        at = f"{path}.{field.json_name}" if path else field.json_name
        if field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type is not None:
                for key in value:
                    refuse_unknown_fields(value[key], f"{at}[{key}]")
        elif field.is_repeated:
            for i, item in enumerate(value):
                refuse_unknown_fields(item, f"{at}[{i}]")
        else:
            refuse_unknown_fields(value, at)
