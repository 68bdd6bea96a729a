"""Which lists are merged item by item, and by which key; all others are replaced whole.

Source: the `patchMergeKey` and `listMapKey` tags of `k8s.io/api/core/v1`.
"""

MERGE_KEYS = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "hostIPs": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "ports": "containerPort",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""Lists of objects that are merged, and the key of their items."""

MERGED_SETS = frozenset({"finalizers"})
"""Lists of plain values that are merged as sets."""
