"""Pods that use whatever has a form of its own in JSON, as protobuf messages and as the JSON that they stand for."""

from typing import Any

from armada_client.k8s.io.api.core.v1 import generated_pb2 as core_v1
from armada_client.k8s.io.apimachinery.pkg.api.resource.generated_pb2 import Quantity
from armada_client.k8s.io.apimachinery.pkg.apis.meta.v1 import generated_pb2 as meta_v1
from armada_client.k8s.io.apimachinery.pkg.util.intstr.generated_pb2 import IntOrString

Json = dict[str, Any]
RESOURCES: Json = {"requests": {"cpu": "500m", "memory": "1.5Gi"}, "limits": {"cpu": "1", "memory": "2Gi"}}


def resources() -> Any:
    """`RESOURCES` as a message."""
    return core_v1.ResourceRequirements(
        requests={"cpu": Quantity(string="500m"), "memory": Quantity(string="1.5Gi")},
        limits={"cpu": Quantity(string="1"), "memory": Quantity(string="2Gi")},
    )


def main_container(**fields: Any) -> Any:
    """A container with resources."""
    return core_v1.Container(name="main", image="registry.example/main:1", resources=resources(), **fields)


def pod(**fields: Any) -> Any:
    """A pod of one container, with the given fields of the spec."""
    return core_v1.PodSpec(containers=[main_container()], restartPolicy="Never", **fields)


def named(name: str) -> Any:
    """A reference to an object in the pod's own namespace."""
    return core_v1.LocalObjectReference(name=name)


MAIN: Json = {"name": "main", "image": "registry.example/main:1", "resources": RESOURCES}
POD: Json = {"containers": [MAIN], "restartPolicy": "Never"}


def environment() -> Any:
    key, source = core_v1.ConfigMapKeySelector, core_v1.EnvVarSource
    secret = core_v1.SecretKeySelector(localObjectReference=named("keys"), key="token", optional=False)
    field = core_v1.ObjectFieldSelector(fieldPath="metadata.name")
    share = core_v1.ResourceFieldSelector(resource="limits.memory", divisor=Quantity(string="1Mi"))
    return main_container(
        env=[
            core_v1.EnvVar(name="PLAIN", value="1"),
            core_v1.EnvVar(
                name="CONFIG", valueFrom=source(configMapKeyRef=key(localObjectReference=named("cm"), key="k"))
            ),
            core_v1.EnvVar(name="SECRET", valueFrom=source(secretKeyRef=secret)),
            core_v1.EnvVar(name="FIELD", valueFrom=source(fieldRef=field)),
            core_v1.EnvVar(name="SHARE", valueFrom=source(resourceFieldRef=share)),
        ],
        envFrom=[
            core_v1.EnvFromSource(
                prefix="A_", configMapRef=core_v1.ConfigMapEnvSource(localObjectReference=named("cm"), optional=True)
            ),
            core_v1.EnvFromSource(secretRef=core_v1.SecretEnvSource(localObjectReference=named("keys"))),
        ],
    )


ENVIRONMENT: Json = MAIN | {
    "env": [
        {"name": "PLAIN", "value": "1"},
        {"name": "CONFIG", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token", "optional": False}}},
        {"name": "FIELD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "SHARE", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
    ],
    "envFrom": [
        {"prefix": "A_", "configMapRef": {"name": "cm", "optional": True}},
        {"secretRef": {"name": "keys"}},
    ],
}


def probes() -> Any:
    handler, get = core_v1.ProbeHandler, core_v1.HTTPGetAction
    post = core_v1.LifecycleHandler(exec=core_v1.ExecAction(command=["true"]))
    stop = core_v1.LifecycleHandler(
        httpGet=get(path="/stop", port=IntOrString(type=1, strVal="http"), scheme="HTTP", httpHeaders=[]),
    )
    return main_container(
        ports=[core_v1.ContainerPort(name="http", containerPort=8080)],
        livenessProbe=core_v1.Probe(
            handler=handler(httpGet=get(path="/", port=IntOrString(type=1, strVal="http"))),
            periodSeconds=5,
            terminationGracePeriodSeconds=1,
        ),
        readinessProbe=core_v1.Probe(
            handler=handler(tcpSocket=core_v1.TCPSocketAction(port=IntOrString(type=0, intVal=8080))),
            initialDelaySeconds=0,
        ),
        startupProbe=core_v1.Probe(
            handler=handler(grpc=core_v1.GRPCAction(port=8081, service="")), failureThreshold=30
        ),
        lifecycle=core_v1.Lifecycle(postStart=post, preStop=stop),
    )


PROBES: Json = MAIN | {
    "ports": [{"name": "http", "containerPort": 8080}],
    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5, "terminationGracePeriodSeconds": 1},
    "readinessProbe": {"tcpSocket": {"port": 8080}},
    "startupProbe": {"grpc": {"port": 8081, "service": ""}, "failureThreshold": 30},
    "lifecycle": {
        "postStart": {"exec": {"command": ["true"]}},
        "preStop": {"httpGet": {"path": "/stop", "port": "http", "scheme": "HTTP"}},
    },
}


def _volume(name: str, **source: Any) -> Any:
    return core_v1.Volume(name=name, volumeSource=core_v1.VolumeSource(**source))


def volumes() -> list[Any]:
    projection = core_v1.VolumeProjection
    claim = core_v1.PersistentVolumeClaimTemplate(
        metadata=meta_v1.ObjectMeta(labels={"of": "job"}),
        spec=core_v1.PersistentVolumeClaimSpec(
            accessModes=["ReadWriteOnce"],
            resources=core_v1.VolumeResourceRequirements(requests={"storage": Quantity(string="1Gi")}),
            storageClassName="",
        ),
    )
    return [
        _volume("empty", emptyDir=core_v1.EmptyDirVolumeSource()),
        _volume("sized", emptyDir=core_v1.EmptyDirVolumeSource(medium="Memory", sizeLimit=Quantity(string="64Mi"))),
        _volume(
            "config",
            configMap=core_v1.ConfigMapVolumeSource(
                localObjectReference=named("cm"), items=[core_v1.KeyToPath(key="k", path="p", mode=0)], defaultMode=420
            ),
        ),
        _volume("secret", secret=core_v1.SecretVolumeSource(secretName="keys", optional=False)),
        _volume(
            "projected",
            projected=core_v1.ProjectedVolumeSource(
                sources=[
                    projection(secret=core_v1.SecretProjection(localObjectReference=named("keys"))),
                    projection(configMap=core_v1.ConfigMapProjection(localObjectReference=named("cm"), optional=True)),
                    projection(
                        serviceAccountToken=core_v1.ServiceAccountTokenProjection(path="token", expirationSeconds=3600)
                    ),
                ]
            ),
        ),
        _volume("claim", ephemeral=core_v1.EphemeralVolumeSource(volumeClaimTemplate=claim)),
    ]


VOLUMES: list[Json] = [
    {"name": "empty", "emptyDir": {}},
    {"name": "sized", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
    {
        "name": "config",
        "configMap": {"name": "cm", "items": [{"key": "k", "path": "p", "mode": 0}], "defaultMode": 420},
    },
    {"name": "secret", "secret": {"secretName": "keys", "optional": False}},
    {
        "name": "projected",
        "projected": {
            "sources": [
                {"secret": {"name": "keys"}},
                {"configMap": {"name": "cm", "optional": True}},
                {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
            ]
        },
    },
    {
        "name": "claim",
        "ephemeral": {
            "volumeClaimTemplate": {
                "metadata": {"labels": {"of": "job"}},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                    "storageClassName": "",
                },
            }
        },
    },
]
