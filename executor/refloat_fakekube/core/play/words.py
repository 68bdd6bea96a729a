"""The texts that a kubelet, a container runtime and the eviction manager write, as recorded on a real node.

Source: `tests/data/real_node.jsonl`.
"""

DEADLINE = "Pod was active on the node longer than the specified deadline"
OUT_OF_CPU = "Node didn't have enough resource: cpu, requested: 500000, used: 0, capacity: 2000"
EVICTED = "Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. "
START_ERROR = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
    'unable to start container process: exec: "/no/such/binary": stat /no/such/binary: no such file or directory: '
    "unknown"
)
CONFIG_ERROR = 'configmap "absent" not found'
TAINT_EVICTION = ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")


def pulled(image: str) -> str:
    """Event Pulled, for an image that is there."""
    return f'Container image "{image}" already present on machine'


def pull_failed(image: str) -> str:
    """Why a registry that does not exist can't be asked."""
    host, _, rest = image.partition("/")
    name, _, tag = rest.partition(":")
    head = f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": failed to do request: '
    return head + (
        f'Head "https://{host}/v2/{name}/manifests/{tag or "latest"}": dial tcp: lookup {host} on 10.255.255.53:53: '
        "no such host"
    )


def image_name_invalid(image: str) -> str:
    """Why an image's name can't be read."""
    return (
        f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": invalid reference format: '
        "repository name (Case) must be lowercase"
    )


def back_off(pod: str, container: str, seconds: int) -> str:
    """Why a container that failed again waits; `pod` is `name_namespace(uid)`."""
    return f"back-off {seconds}s restarting failed container={container} pod={pod}"
