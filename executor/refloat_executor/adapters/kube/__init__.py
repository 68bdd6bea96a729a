"""The Kubernetes API over HTTP: credentials by kubernetes-asyncio, requests by sessions of our own.

The library's generated models, its watch and its session cost a hundred times what the narrow structs cost, have no
timeouts, and read proxies from the environment; so only its reading of kubeconfigs and service accounts is used.
"""

from refloat_executor.adapters.kube.api import KubeHttp, open_kube
from refloat_executor.adapters.kube.credentials import Credentials, KubeConfigError, Source, load_credentials

__all__ = ["Credentials", "KubeConfigError", "KubeHttp", "Source", "load_credentials", "open_kube"]
