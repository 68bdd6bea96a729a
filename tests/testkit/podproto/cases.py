"""Named pods, each as a protobuf message and as the Kubernetes JSON that it stands for."""

from typing import Any

from armada_client.k8s.io.api.core.v1 import generated_pb2 as core_v1
from armada_client.k8s.io.apimachinery.pkg.api.resource.generated_pb2 import Quantity
from armada_client.k8s.io.apimachinery.pkg.apis.meta.v1 import generated_pb2 as meta_v1

from testkit.podproto import rich
from testkit.podproto.rich import MAIN, POD, Json, main_container, pod


def _placed() -> Any:
    requirement, term = core_v1.NodeSelectorRequirement, core_v1.NodeSelectorTerm
    zone = requirement(key="zone", operator="In", values=["a", "b"])
    labels = meta_v1.LabelSelector(
        matchLabels={"app": "x"},
        matchExpressions=[meta_v1.LabelSelectorRequirement(key="tier", operator="Exists")],
    )
    near = core_v1.PodAffinityTerm(labelSelector=labels, topologyKey="zone")
    return pod(
        nodeSelector={"disk": "ssd", "arch": "amd64"},
        affinity=core_v1.Affinity(
            nodeAffinity=core_v1.NodeAffinity(
                requiredDuringSchedulingIgnoredDuringExecution=core_v1.NodeSelector(
                    nodeSelectorTerms=[term(matchExpressions=[zone])]
                ),
                preferredDuringSchedulingIgnoredDuringExecution=[
                    core_v1.PreferredSchedulingTerm(weight=1, preference=term(matchExpressions=[zone]))
                ],
            ),
            podAntiAffinity=core_v1.PodAntiAffinity(
                preferredDuringSchedulingIgnoredDuringExecution=[
                    core_v1.WeightedPodAffinityTerm(weight=2, podAffinityTerm=near)
                ]
            ),
        ),
        tolerations=[
            core_v1.Toleration(key="gpu", operator="Exists", effect="NoSchedule"),
            core_v1.Toleration(key="slow", value="yes", effect="NoExecute", tolerationSeconds=0),
        ],
        topologySpreadConstraints=[
            core_v1.TopologySpreadConstraint(
                maxSkew=1, topologyKey="zone", whenUnsatisfiable="DoNotSchedule", labelSelector=labels, minDomains=2
            )
        ],
    )


_ZONE = {"key": "zone", "operator": "In", "values": ["a", "b"]}
_LABELS = {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}
_PLACED: Json = POD | {
    "nodeSelector": {"arch": "amd64", "disk": "ssd"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [_ZONE]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [_ZONE]}}
            ],
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 2, "podAffinityTerm": {"labelSelector": _LABELS, "topologyKey": "zone"}}
            ]
        },
    },
    "tolerations": [
        {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "slow", "value": "yes", "effect": "NoExecute", "tolerationSeconds": 0},
    ],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": _LABELS,
            "minDomains": 2,
        }
    ],
}


def _secured() -> Any:
    return core_v1.PodSpec(
        containers=[
            main_container(
                securityContext=core_v1.SecurityContext(
                    capabilities=core_v1.Capabilities(drop=["ALL"]),
                    privileged=False,
                    runAsUser=0,
                    readOnlyRootFilesystem=True,
                    seccompProfile=core_v1.SeccompProfile(type="RuntimeDefault"),
                ),
                volumeMounts=[core_v1.VolumeMount(name="empty", mountPath="/data", readOnly=True)],
            )
        ],
        initContainers=[core_v1.Container(name="proxy", image="registry.example/proxy:1", restartPolicy="Always")],
        securityContext=core_v1.PodSecurityContext(
            runAsNonRoot=False, fsGroup=0, supplementalGroups=[0, 2_000_000_000]
        ),
        automountServiceAccountToken=False,
        enableServiceLinks=False,
        activeDeadlineSeconds=600,
        terminationGracePeriodSeconds=0,
        hostAliases=[core_v1.HostAlias(ip="127.0.0.1", hostnames=["here"])],
        dnsConfig=core_v1.PodDNSConfig(options=[core_v1.PodDNSConfigOption(name="ndots", value="1")]),
        volumes=[
            core_v1.Volume(name="empty", volumeSource=core_v1.VolumeSource(emptyDir=core_v1.EmptyDirVolumeSource()))
        ],
    )


_SECURED: Json = {
    "containers": [
        MAIN
        | {
            "securityContext": {
                "capabilities": {"drop": ["ALL"]},
                "privileged": False,
                "runAsUser": 0,
                "readOnlyRootFilesystem": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "volumeMounts": [{"name": "empty", "mountPath": "/data", "readOnly": True}],
        }
    ],
    "initContainers": [{"name": "proxy", "image": "registry.example/proxy:1", "restartPolicy": "Always"}],
    "securityContext": {"runAsNonRoot": False, "fsGroup": 0, "supplementalGroups": [0, 2_000_000_000]},
    "automountServiceAccountToken": False,
    "enableServiceLinks": False,
    "activeDeadlineSeconds": 600,
    "terminationGracePeriodSeconds": 0,
    "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["here"]}],
    "dnsConfig": {"options": [{"name": "ndots", "value": "1"}]},
    "volumes": [{"name": "empty", "emptyDir": {}}],
}


def _as_go_sends_it() -> Any:
    """What a Go client makes of a small pod: every field that is no pointer is there, with its zero."""
    share = core_v1.ResourceFieldSelector(containerName="", resource="limits.cpu", divisor=Quantity(string="0"))
    return core_v1.PodSpec(
        containers=[
            core_v1.Container(
                name="main",
                image="registry.example/main:1",
                workingDir="",
                resources=core_v1.ResourceRequirements(),
                env=[core_v1.EnvVar(name="E", value="", valueFrom=core_v1.EnvVarSource(resourceFieldRef=share))],
                terminationMessagePath="",
                imagePullPolicy="",
                stdin=False,
                stdinOnce=False,
                tty=False,
                terminationMessagePolicy="",
            )
        ],
        restartPolicy="Never",
        dnsPolicy="",
        serviceAccountName="",
        nodeName="",
        hostNetwork=False,
        hostPID=False,
        hostIPC=False,
        hostname="",
        subdomain="",
        schedulerName="",
        priorityClassName="",
        volumes=[
            core_v1.Volume(
                name="v", volumeSource=core_v1.VolumeSource(emptyDir=core_v1.EmptyDirVolumeSource(medium=""))
            )
        ],
    )


_FROM_GO: Json = {
    "containers": [
        {
            "name": "main",
            "image": "registry.example/main:1",
            "env": [{"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}}],
        }
    ],
    "restartPolicy": "Never",
    "volumes": [{"name": "v", "emptyDir": {}}],
}

PODS: dict[str, tuple[Any, Json]] = {
    "resources": (pod(), POD),
    "environment": (
        core_v1.PodSpec(containers=[rich.environment()], restartPolicy="Never"),
        POD | {"containers": [rich.ENVIRONMENT]},
    ),
    "probes": (
        core_v1.PodSpec(containers=[rich.probes()], restartPolicy="Never"),
        POD | {"containers": [rich.PROBES]},
    ),
    "volumes": (
        pod(volumes=rich.volumes(), serviceAccountName="default"),
        POD | {"volumes": rich.VOLUMES, "serviceAccountName": "default"},
    ),
    "placed": (_placed(), _PLACED),
    "secured": (_secured(), _SECURED),
    "as Go sends it": (_as_go_sends_it(), _FROM_GO),
}
"""Name → message and JSON; an API server takes each of them."""
