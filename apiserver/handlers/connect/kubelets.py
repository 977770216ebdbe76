"""How a node's kubelet is reached: address and port from the Node's status, TLS with the apiserver's certificate."""

from __future__ import annotations

import ssl

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.backend import Target
from apiserver.config import Config, ConfigError
from apiserver.storage.store import Store

_PREFERRED = ("InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS", "Hostname")
_DEFAULT_PORT = 10250
_NODES = "/registry/minions/"


class Kubelets:
    def __init__(self, config: Config, store: Store) -> None:
        self._store = store
        self._tls = client_context(config)

    def target(self, node_name: str, method: str, path: str) -> Target:
        """Raises NotFound for an unknown node, BadRequest for one without an address."""
        stored = self._store.cached(_NODES + node_name)
        if stored is None:
            raise errors.not_found("", "nodes", node_name)
        host, port = address_of(stored.object)
        return Target(host, port, self._tls, method, path)


def address_of(node: Object) -> tuple[str, int]:
    status = node.get("status") or {}
    addresses = {entry["type"]: entry["address"] for entry in reversed(status.get("addresses") or [])}
    host = next((addresses[kind] for kind in _PREFERRED if kind in addresses), None)
    if host is None:
        raise errors.BadRequest(f"no preferred addresses found for node {node['metadata']['name']}")
    endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    return host, int(endpoint.get("Port") or _DEFAULT_PORT)


def client_context(config: Config) -> ssl.SSLContext:
    """TLS towards kubelets. As upstream, without a CA for them their certificates are not checked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if config.kubelet_certificate_authority:
            context.load_verify_locations(config.kubelet_certificate_authority)
        else:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if config.kubelet_client_certificate:
            context.load_cert_chain(config.kubelet_client_certificate, config.kubelet_client_key or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"the certificates for kubelets cannot be used: {error}") from error
    return context
