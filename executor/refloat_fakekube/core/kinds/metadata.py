"""Checks names, labels, annotations and finalizers as `k8s.io/apimachinery/pkg/util/validation` does."""

import re

from refloat_fakekube.core.kinds import causes
from refloat_fakekube.core.objects import Json, names, section, text
from refloat_fakekube.core.refusals import Cause

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_NAME_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME_PART})?"
_STANDARD_FINALIZERS = {"kubernetes", "orphan", "foregroundDeletion"}
_LABEL_MAX, _SUBDOMAIN_MAX, _NAME_MAX, _ANNOTATIONS_MAX_BYTES = 63, 253, 63, 256 << 10
_SHOWN_SUBDOMAIN = _SUBDOMAIN.replace("(\\.", "(\\.")

LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SHOWN_SUBDOMAIN}')"
)
VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'({_NAME_PART})?')"
)
KEY_WORDS = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{_NAME_PART}')"
)


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


def label_faults(value: str) -> list[str]:
    """What is wrong with a DNS-1123 label (container and volume names)."""
    faults = [_too_long(_LABEL_MAX)] if len(value) > _LABEL_MAX else []
    return faults if re.fullmatch(_LABEL, value) else [*faults, LABEL_WORDS]


def subdomain_faults(value: str) -> list[str]:
    """What is wrong with a DNS-1123 subdomain (names of pods, nodes, leases)."""
    faults = [_too_long(_SUBDOMAIN_MAX)] if len(value) > _SUBDOMAIN_MAX else []
    return faults if re.fullmatch(_SUBDOMAIN, value) else [*faults, SUBDOMAIN_WORDS]


def path_faults(value: str) -> list[str]:
    """What is wrong with a name that only has to be one segment of a path (names of events)."""
    if value in {".", ".."}:
        return [f"may not be '{value}'"]
    return [f"may not contain '{sign}'" for sign in "/%" if sign in value]


def key_faults(key: str) -> list[str]:
    """What is wrong with the key of a label or annotation, or a finalizer."""
    prefix, slash, name = key.rpartition("/")
    faults = [f"prefix part {fault}" for fault in subdomain_faults(prefix)] if slash else []
    if len(name) > _NAME_MAX:
        faults.append(f"name part {_too_long(_NAME_MAX)}")
    return faults if re.fullmatch(_NAME_PART, name) else [*faults, KEY_WORDS]


def value_faults(value: str) -> list[str]:
    """What is wrong with the value of a label."""
    faults = [_too_long(_NAME_MAX)] if len(value) > _NAME_MAX else []
    return faults if re.fullmatch(_VALUE, value) else [*faults, VALUE_WORDS]


def check_metadata(obj: Json) -> list[Cause]:
    """The causes that labels, annotations and finalizers give."""
    found: list[Cause] = []
    for key, value in section(obj, "metadata", "labels").items():
        found += [causes.invalid("metadata.labels", key, fault) for fault in key_faults(key)]
        shown = value if isinstance(value, str) else ""
        found += [causes.invalid("metadata.labels", shown, fault) for fault in value_faults(shown)]
    size = 0
    for key, value in section(obj, "metadata", "annotations").items():
        size += len(key) + len(value if isinstance(value, str) else "")
        found += [causes.invalid("metadata.annotations", key, fault) for fault in key_faults(key.lower())]
    if size > _ANNOTATIONS_MAX_BYTES:
        words = f"Too long: may not be more than {_ANNOTATIONS_MAX_BYTES} bytes"
        found.append(Cause("FieldValueTooLong", words, "metadata.annotations"))
    for place, finalizer in enumerate(names(obj, "metadata", "finalizers")):
        at = f"metadata.finalizers[{place}]"
        faults = key_faults(finalizer)
        if not faults and "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            faults = ["name is neither a standard finalizer name nor is it fully qualified"]
        found += [causes.invalid(at, finalizer, fault) for fault in faults]
    return found


def check_update(new: Json, old: Json) -> list[Cause]:
    """The causes that a change of identity gives (`ValidateObjectMetaUpdate`)."""
    found: list[Cause] = []
    for field in ("name", "namespace", "uid"):
        if text(new, "metadata", field) != text(old, "metadata", field):
            value = text(new, "metadata", field)
            found.append(causes.invalid(f"metadata.{field}", value, "field is immutable"))
    if text(old, "metadata", "deletionTimestamp"):
        added = [one for one in names(new, "metadata", "finalizers") if one not in names(old, "metadata", "finalizers")]
        if added:
            words = f"no new finalizers can be added if the object is being deleted, found new finalizers {_go(added)}"
            found.append(causes.forbidden("metadata.finalizers", words))
    return found


def _go(values: list[str]) -> str:
    inner = ", ".join(f'"{value}"' for value in values)
    return f"[]string{{{inner}}}"
