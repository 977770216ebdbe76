"""Kubeconfig files (K4): one cluster, one user, one context; certificates inline, so that the file can be moved."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import yaml

from certs import files
from certs.authority import Pair


def write_kubeconfig(
    path: Path, server: str, ca_pem: bytes, credential: Pair | str, *, cluster: str = "armillary", user: str = "admin"
) -> None:
    """Write a kubeconfig for `server`; `credential` is a client certificate or a bearer token."""
    files.write(path, render(server, ca_pem, credential, cluster=cluster, user=user))


def render(server: str, ca_pem: bytes, credential: Pair | str, *, cluster: str, user: str) -> bytes:
    context = f"{user}@{cluster}"
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {"server": server, "certificate-authority-data": _base64(ca_pem)}}],
        "users": [{"name": user, "user": _user(credential)}],
        "contexts": [{"name": context, "context": {"cluster": cluster, "user": user}}],
        "current-context": context,
        "preferences": {},
    }
    return yaml.safe_dump(config, sort_keys=False).encode()


def _user(credential: Pair | str) -> dict[str, str]:
    if isinstance(credential, str):
        return {"token": credential}
    return {
        "client-certificate-data": _base64(credential.cert_pem),
        "client-key-data": _base64(credential.key_pem),
    }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
