"""Says what in an object can't be translated, and where it stands."""


class KubernetesFormError(ValueError):
    """A value that has no place in a Kubernetes object.

    `path` leads to it from the object's root, in JSON's names: `containers[0].resources.limits[memory]`.
    """

    def __init__(self, path: str, value: object, why: str) -> None:
        super().__init__(f"{path}: {value!r} {why}")
        self.path = path
        self.value = value
        self.why = why


def join(path: str, name: str) -> str:
    """The path of a field of the object at `path`."""
    return f"{path}.{name}" if path else name
