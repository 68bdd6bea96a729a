"""Decides for each field of a Kubernetes message where its value stands in JSON, and in which form.

Descriptors tell almost everything, because Kubernetes' protobuf fields bear the names of its JSON keys. What they don't
tell is tabled here: the messages with a JSON form of their own, the fields whose message is inlined, and which fields
are pointers in Kubernetes' Go types (k8s.io/api/core/v1/types.go). Of a pointer, zero is not the same as nothing; of
any other field it is, and every Go client sends its zeros: they are left out of JSON, as Go's `omitempty` does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor


class Form(Enum):
    """How one value is written in JSON."""

    SCALAR = auto()
    OBJECT = auto()
    QUANTITY = auto()
    INT_OR_STRING = auto()
    TIME = auto()
    RAW = auto()


_FORMS: Final = {
    "k8s.io.apimachinery.pkg.api.resource.Quantity": Form.QUANTITY,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": Form.INT_OR_STRING,
    "k8s.io.apimachinery.pkg.apis.meta.v1.Time": Form.TIME,
    "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1": Form.RAW,
}

_INLINED: Final = frozenset({"volumeSource", "handler", "ephemeralContainerCommon", "localObjectReference"})
"""Fields whose message has its own keys in the object around it (`json:",inline"` in Go)."""

_ENV_SOURCE: Final = "optional"
_IDENTITY: Final = "runAsUser runAsGroup runAsNonRoot"
POINTERS: Final = {
    "AppArmorProfile": "localhostProfile",
    "AzureDiskVolumeSource": "cachingMode fsType kind readOnly",
    "CSIVolumeSource": "fsType readOnly",
    "ClusterTrustBundleProjection": "name optional signerName",
    "ConfigMapEnvSource": _ENV_SOURCE,
    "ConfigMapKeySelector": _ENV_SOURCE,
    "ConfigMapProjection": _ENV_SOURCE,
    "ConfigMapVolumeSource": "defaultMode optional",
    "Container": "restartPolicy",
    "DownwardAPIVolumeFile": "mode",
    "DownwardAPIVolumeSource": "defaultMode",
    "EphemeralContainerCommon": "restartPolicy",
    "FCVolumeSource": "lun",
    "GRPCAction": "service",
    "HostPathVolumeSource": "type",
    "ISCSIVolumeSource": "initiatorName",
    "KeyToPath": "mode",
    "ObjectMeta": "deletionGracePeriodSeconds",
    "OwnerReference": "blockOwnerDeletion controller",
    "PersistentVolumeClaimSpec": "storageClassName volumeAttributesClassName volumeMode",
    "PodDNSConfigOption": "value",
    "PodResourceClaim": "resourceClaimName resourceClaimTemplateName",
    "PodSecurityContext": f"{_IDENTITY} fsGroup fsGroupChangePolicy seLinuxChangePolicy supplementalGroupsPolicy",
    "PodSpec": (
        "activeDeadlineSeconds automountServiceAccountToken enableServiceLinks hostUsers preemptionPolicy priority "
        "runtimeClassName setHostnameAsFQDN shareProcessNamespace terminationGracePeriodSeconds"
    ),
    "Probe": "terminationGracePeriodSeconds",
    "ProjectedVolumeSource": "defaultMode",
    "SeccompProfile": "localhostProfile",
    "SecretEnvSource": _ENV_SOURCE,
    "SecretKeySelector": _ENV_SOURCE,
    "SecretProjection": _ENV_SOURCE,
    "SecretVolumeSource": "defaultMode optional",
    "SecurityContext": f"{_IDENTITY} allowPrivilegeEscalation privileged procMount readOnlyRootFilesystem",
    "ServiceAccountTokenProjection": "expirationSeconds",
    "Toleration": "tolerationSeconds",
    "TopologySpreadConstraint": "minDomains nodeAffinityPolicy nodeTaintsPolicy",
    "TypedLocalObjectReference": "apiGroup",
    "TypedObjectReference": "apiGroup namespace",
    "VolumeMount": "mountPropagation recursiveReadOnly",
    "WindowsSecurityContextOptions": "gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName",
}
"""Message → its scalar fields that are pointers."""

STRUCTS: Final = {
    "Container": "resources",
    "EphemeralContainerCommon": "resources",
    "ObjectMeta": "creationTimestamp",
    "PersistentVolumeClaimSpec": "resources",
    "PersistentVolumeClaimTemplate": "metadata spec",
    "PreferredSchedulingTerm": "preference",
    "ResourceFieldSelector": "divisor",
    "WeightedPodAffinityTerm": "podAffinityTerm",
}
"""Message → its message fields that are no pointers, so that an empty one says nothing."""

_WHOLE: Final = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
}


@dataclass(frozen=True, slots=True)
class Slot:
    """One field. `keeps_zero`: an empty value is written too. `bounds` are those of a whole number, else None."""

    name: str
    form: Form
    repeated: bool
    is_map: bool
    inlined: bool
    keeps_zero: bool
    is_flag: bool = False
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """A message's fields by name; and by JSON key, each with the names of the inlined messages that lead to it."""

    slots: Mapping[str, Slot]
    keys: Mapping[str, tuple[tuple[str, ...], Slot]]


@lru_cache(maxsize=1024)
def layout_of(message: Descriptor) -> Layout:
    """The layout of a message type."""
    slots = {field.name: _slot(message, field) for field in message.fields}
    keys: dict[str, tuple[tuple[str, ...], Slot]] = {}
    for field in message.fields:
        slot = slots[field.name]
        if not slot.inlined:
            keys[slot.name] = (), slot
            continue
        assert field.message_type is not None
        for key, (steps, inner) in layout_of(field.message_type).keys.items():
            keys[key] = (slot.name, *steps), inner
    return Layout(slots, keys)


def _slot(message: Descriptor, field: FieldDescriptor) -> Slot:
    is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
    value = field.message_type.fields_by_name["value"] if is_map and field.message_type else field
    kind = value.message_type
    form = Form.SCALAR if kind is None else _FORMS.get(kind.full_name, Form.OBJECT)
    said = POINTERS if form is Form.SCALAR else STRUCTS
    listed = field.name in said.get(message.name, "").split()
    return Slot(
        name=field.name,
        form=form,
        repeated=bool(field.is_repeated) and not is_map,
        is_map=is_map,
        inlined=field.name in _INLINED and form is Form.OBJECT,
        keeps_zero=listed if form is Form.SCALAR else not listed,
        is_flag=value.cpp_type == FieldDescriptor.CPPTYPE_BOOL,
        bounds=_WHOLE.get(value.cpp_type),
    )
