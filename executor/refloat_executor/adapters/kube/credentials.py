"""Reads where the API server is and who we are there: a kubeconfig file, or the service account of our own pod."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from kubernetes_asyncio import config as kube_config
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config.config_exception import ConfigException
from yaml import YAMLError


class KubeConfigError(Exception):
    """There are no credentials that can be used."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"no credentials for the Kubernetes API from {source}: {problem}")


@dataclass(frozen=True, slots=True)
class Source:
    """Where credentials come from. An empty `kubeconfig` means the service account of our own pod."""

    kubeconfig: str = ""
    context: str = ""
    strict_tls: bool = True
    """Off for a cluster whose certificates lack extensions that newer Pythons demand."""

    def __str__(self) -> str:
        if not self.kubeconfig:
            return "the pod's service account"
        return f"{self.kubeconfig} (context {self.context})" if self.context else self.kubeconfig


class Credentials:
    """Address, TLS context and token. The token is read again as the library does it (once a minute in a pod)."""

    def __init__(self, source: Source, configuration: Configuration) -> None:
        self._source = source
        self._configuration = configuration
        self.ssl = _tls(configuration, source)

    @property
    def host(self) -> str:
        """The API server's base URL, without a slash at its end."""
        return str(self._configuration.host).rstrip("/")

    @property
    def server_name(self) -> str | None:
        """The name that the server's certificate is checked against, where it is not that of the URL."""
        name = self._configuration.tls_server_name
        return str(name) if name else None

    @property
    def proxy(self) -> str | None:
        """The proxy that the kubeconfig names; the environment's is not looked at."""
        proxy = self._configuration.proxy
        return str(proxy) if proxy else None

    async def headers(self) -> dict[str, str]:
        """The header that says who we are; none where a client certificate does."""
        token = await self._configuration.get_api_key_with_prefix("BearerToken")
        # Token files end in a newline as often as not, and a header may hold none.
        return {"Authorization": str(token).strip()} if token else {}

    async def reload(self) -> None:
        """Read everything again: a token was refused, or the authority was exchanged.

        Raises:
            KubeConfigError: there are no credentials any more.
        """
        fresh = await _load(self._source)
        self._configuration = fresh
        self.ssl = _tls(fresh, self._source)


async def load_credentials(source: Source) -> Credentials:
    """The credentials of a source.

    Raises:
        KubeConfigError: there are none that can be used.
    """
    return Credentials(source, await _load(source))


async def _load(source: Source) -> Configuration:
    configuration = Configuration()
    try:
        if source.kubeconfig:
            await kube_config.load_kube_config(
                config_file=_existing(source),
                context=source.context or None,
                client_configuration=configuration,
                persist_config=False,
            )
        else:
            kube_config.load_incluster_config(client_configuration=configuration)
    except (ConfigException, OSError, ValueError, YAMLError) as error:
        raise KubeConfigError(str(source), " ".join(str(error).split())) from error
    return configuration


def _existing(source: Source) -> str:
    path = Path(source.kubeconfig).expanduser()
    if not path.is_file():
        raise KubeConfigError(str(source), "no such file")
    return str(path)


def _tls(configuration: Configuration, source: Source) -> ssl.SSLContext | None:
    if not str(configuration.host).startswith("https://"):
        return None
    try:
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    except (OSError, ssl.SSLError) as error:
        raise KubeConfigError(str(source), str(error)) from error
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if not source.strict_tls:
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
