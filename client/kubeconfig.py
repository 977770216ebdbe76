"""Which server to talk to and as whom: kubeconfig files, merged, then overridden by flags (steps K4, K5).

Order: the explicit path; else `$KUBECONFIG`, a list of files of which the first to set a value wins; else the first
existing of `defaults`; else the pod's service account; else no server at all (`NoConfiguration`). Files that are there
but say nothing mean kubectl's oldest default, a server on this machine.
Guarantees: relative paths in a file are relative to that file; one named entry is taken whole from the first file that
has it. Does not read certificates or tokens from the files it names: `client.credentials` does, when they are used.
Source: https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from client import kubeconfigshape

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EMPTY_FILES_SERVER = "http://localhost:8080"
_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


class ConfigError(Exception):
    """The configuration cannot be used; the message says which file, context, cluster or user, and why."""


class NoConfiguration(ConfigError):
    """No kubeconfig file was found and the process does not run in a pod."""


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints an ExecCredential (`users[].user.exec`)."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    install_hint: str = ""
    provide_cluster_info: bool = False


@dataclass(frozen=True, slots=True)
class Impersonation:
    """`--as`, `--as-uid`, `--as-group`: on whose behalf the calls are made."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """One server and one identity. Certificates are PEM: inline (`…_data`) or a path; inline wins."""

    server: str
    namespace: str = "default"
    certificate_authority: str = ""
    certificate_authority_data: bytes = b""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    client_certificate: str = ""
    client_certificate_data: bytes = b""
    client_key: str = ""
    client_key_data: bytes = b""
    token: str = field(default="", repr=False)
    token_file: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    exec_plugin: ExecPlugin | None = None
    impersonate: Impersonation = Impersonation()
    context: str = ""
    source: str = ""  # the file that named the context, for messages


@dataclass(frozen=True, slots=True)
class Overrides:
    """What flags say; "" and None leave the file's value."""

    server: str = ""
    namespace: str = ""
    cluster: str = ""
    user: str = ""
    certificate_authority: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    client_certificate: str = ""
    client_key: str = ""
    token: str = ""
    username: str = ""
    password: str = ""
    impersonate: Impersonation | None = None


def load(
    explicit: str | None = None,
    *,
    context: str | None = None,
    overrides: Overrides | None = None,
    environ: Mapping[str, str] | None = None,
    defaults: Sequence[Path] | None = None,
) -> ClientConfig:
    """The configuration of this process. Raises ConfigError; `defaults` replaces `~/.kube/config`."""
    environ = os.environ if environ is None else environ
    overrides = overrides or Overrides()
    read = _read_all(explicit, environ, defaults)
    config = _load(merge(read), environ, context or "", overrides, has_files=bool(read))
    try:
        urlsplit(config.server).port  # noqa: B018 - raises what is wrong with it, and with the address
    except ValueError as error:
        raise ConfigError(f'the server "{config.server}" is no URL: {error}') from error
    return config


def _load(
    merged: Mapping[str, Any], environ: Mapping[str, str], context: str, overrides: Overrides, *, has_files: bool
) -> ClientConfig:
    if merged["contexts"] or merged["clusters"]:
        return _override(_choose(merged, context, overrides), overrides)
    if overrides.server:
        return _override(ClientConfig(server=overrides.server), overrides)
    try:
        return _override(in_cluster(environ), overrides)
    except NoConfiguration:
        if not has_files:
            raise
        return _override(ClientConfig(server=EMPTY_FILES_SERVER), overrides)


def merge(files: Sequence[tuple[Path, Mapping[str, Any]]]) -> dict[str, Any]:
    """One configuration of several: named entries as `{name: (entry, path)}`, the first of each name."""
    merged: dict[str, Any] = {"contexts": {}, "clusters": {}, "users": {}, "current-context": ""}
    for path, content in files:
        merged["current-context"] = merged["current-context"] or content.get("current-context") or ""
        for section, key in kubeconfigshape.SECTIONS:
            for entry in content.get(section) or []:
                merged[section].setdefault(entry["name"], (_absolute(entry.get(key) or {}, path), path))
    return merged


def in_cluster(environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> ClientConfig:
    """The configuration of a pod: its service account's token, which is read again as it rotates."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    token = folder / "token"
    if not host or not port or not token.exists():
        raise NoConfiguration("no kubeconfig file was found, and this process does not run in a pod")
    namespace = folder / "namespace"
    return ClientConfig(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        certificate_authority=str(folder / "ca.crt"),
        token_file=str(token),
        source=str(folder),
    )


def _read_all(
    explicit: str | None, environ: Mapping[str, str], defaults: Sequence[Path] | None
) -> list[tuple[Path, Mapping[str, Any]]]:
    if explicit:
        path = Path(explicit).expanduser()
        if not path.exists():
            raise ConfigError(f"stat {explicit}: no such file or directory")
        return [(path, _read(path))]
    listed = [Path(part).expanduser() for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        return [(path, _read(path)) for path in dict.fromkeys(listed) if path.exists()]
    candidates = defaults if defaults is not None else [Path(environ.get("HOME", "/")) / ".kube" / "config"]
    found = next((path for path in candidates if path.exists()), None)
    return [(found, _read(found))] if found else []


def _read(path: Path) -> Mapping[str, Any]:
    import yaml  # late: a process with an in-cluster configuration never needs it

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # the C loader where libyaml is there; both are safe loaders
        content = yaml.load(path.read_bytes(), Loader=loader)
    except (yaml.YAMLError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f'error loading config file "{path}": {" ".join(str(error).split())}') from error
    if content is None:
        return {}
    if not isinstance(content, Mapping) or content.get("kind", "Config") != "Config":
        raise ConfigError(f'error loading config file "{path}": it is not a kubeconfig (kind: Config)')
    if problem := kubeconfigshape.problem(content):
        raise ConfigError(f'error loading config file "{path}": {problem}')
    return content


def _absolute(entry: Mapping[str, Any], path: Path) -> dict[str, Any]:
    folder = path.absolute().parent
    return {
        key: str(folder / value) if key in _PATHS and isinstance(value, str) and value else value
        for key, value in entry.items()
    }


def _choose(merged: Mapping[str, Any], context: str, overrides: Overrides) -> ClientConfig:
    name = context or merged["current-context"]
    chosen: Mapping[str, Any] = {}
    source: Path | str = ""
    if name:
        if name not in merged["contexts"]:
            raise ConfigError(f'context "{name}" does not exist')
        chosen, source = merged["contexts"][name]
    cluster = _named(merged, "clusters", overrides.cluster or chosen.get("cluster") or "", "cluster")
    user = _named(merged, "users", overrides.user or chosen.get("user") or "", "auth info")
    if not cluster.get("server") and not overrides.server:
        raise ConfigError(f'context "{name}" names no server' if name else "no current context is set")
    config = _cluster(cluster, ClientConfig(server=str(cluster.get("server") or ""), context=name, source=str(source)))
    return replace(_user(user, config), namespace=chosen.get("namespace") or "default")


def _named(merged: Mapping[str, Any], section: str, name: str, what: str) -> Mapping[str, Any]:
    if not name:
        return {}
    if name not in merged[section]:
        raise ConfigError(f'{what} "{name}" does not exist')
    entry: Mapping[str, Any] = merged[section][name][0]
    return entry


def _cluster(entry: Mapping[str, Any], config: ClientConfig) -> ClientConfig:
    return replace(
        config,
        certificate_authority=entry.get("certificate-authority") or "",
        certificate_authority_data=_decode(entry, "certificate-authority-data"),
        insecure_skip_tls_verify=bool(entry.get("insecure-skip-tls-verify")),
        tls_server_name=entry.get("tls-server-name") or "",
    )


def _user(entry: Mapping[str, Any], config: ClientConfig) -> ClientConfig:
    return replace(
        config,
        client_certificate=entry.get("client-certificate") or "",
        client_certificate_data=_decode(entry, "client-certificate-data"),
        client_key=entry.get("client-key") or "",
        client_key_data=_decode(entry, "client-key-data"),
        token=entry.get("token") or "",
        token_file=entry.get("tokenFile") or "",
        username=entry.get("username") or "",
        password=entry.get("password") or "",
        exec_plugin=_exec_plugin(entry["exec"]) if entry.get("exec") else None,
        impersonate=Impersonation(
            entry.get("as") or "", entry.get("as-uid") or "", tuple(entry.get("as-groups") or ())
        ),
    )


def _exec_plugin(entry: Mapping[str, Any]) -> ExecPlugin:
    if not entry.get("command"):
        raise ConfigError("exec plugin: command is missing")
    return ExecPlugin(
        command=entry["command"],
        args=tuple(entry.get("args") or ()),
        env=tuple((item["name"], item["value"]) for item in entry.get("env") or ()),
        api_version=entry.get("apiVersion") or "client.authentication.k8s.io/v1",
        install_hint=entry.get("installHint") or "",
        provide_cluster_info=bool(entry.get("provideClusterInfo")),
    )


def _override(config: ClientConfig, overrides: Overrides) -> ClientConfig:
    """Flags win. A token or basic login given by flag replaces the file's token, plugin and login (upstream's rule)."""
    names = (
        "server",
        "namespace",
        "tls_server_name",
        "client_certificate",
        "client_key",
        "certificate_authority",
        "token",
        "username",
        "password",
    )
    changed: dict[str, Any] = {name: value for name in names if (value := getattr(overrides, name))}
    for name in ("client_certificate", "client_key", "certificate_authority"):
        if name in changed:
            changed[f"{name}_data"] = b""
    if overrides.token:
        changed |= {"token_file": "", "username": "", "password": "", "exec_plugin": None}
    elif overrides.username:
        changed |= {"token": "", "token_file": "", "exec_plugin": None}
    if overrides.insecure_skip_tls_verify:
        changed |= {"insecure_skip_tls_verify": True, "certificate_authority": "", "certificate_authority_data": b""}
    if overrides.impersonate is not None:
        changed["impersonate"] = overrides.impersonate
    return replace(config, **changed)


def _decode(entry: Mapping[str, Any], key: str) -> bytes:
    value = entry.get(key)
    if not value:
        return b""
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise ConfigError(f"{key} is not base64: {error}") from error
