"""How a process proves who it is: TLS contexts, tokens that rotate, exec plugins (step K5).

Guarantees: private keys given inline never touch a disk where the system has memory files; a token file is read again
when it changes; an exec plugin runs again when its credential has expired or was refused.
Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from apimachinery import clock as clocks
from client.kubeconfig import ClientConfig, ConfigError, ExecPlugin

# Upstream rereads a token file at most this often; rotation happens long before expiry.
TOKEN_FILE_SECONDS = 10.0
# An interactive plugin may wait for a person in a browser; nobody waits longer.
EXEC_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class ExecCredential:
    """What a plugin printed: a token, a certificate with its key, or both."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    expires: datetime | None = None


class Credentials:
    """The Authorization header and TLS context of one client."""

    def __init__(self, config: ClientConfig, clock: clocks.Clock) -> None:
        self._config = config
        self._clock = clock
        self._exec: ExecCredential | None = None
        self._token_file: tuple[str, float] | None = None  # token, when to look again

    def tls(self) -> ssl.SSLContext | None:
        """The context for the server; None for plain http. Raises ConfigError."""
        if not self._config.server.startswith("https://"):
            return None
        config = self._config
        if self._exec is not None and self._exec.certificate:
            config = replace(config, client_certificate_data=self._exec.certificate, client_key_data=self._exec.key)
        return tls_context(config)

    async def prepare(self) -> bool:
        """Run the exec plugin if its credential is missing or expired. True: the TLS context has changed."""
        plugin = self._config.exec_plugin
        if plugin is None or self._is_fresh():
            return False
        before = self._exec
        self._exec = await run_plugin(plugin, self._config)
        return (before.certificate if before else b"") != self._exec.certificate

    def refused(self) -> bool:
        """The server answered 401: forget what may be stale. True: another try could succeed."""
        had = self._exec is not None
        self._exec = None
        self._token_file = None
        return had

    def authorization(self) -> str | None:
        """The value of the Authorization header."""
        config = self._config
        if self._exec is not None and self._exec.token:
            return f"Bearer {self._exec.token}"
        if config.token:
            return f"Bearer {config.token}"
        if config.token_file:
            return f"Bearer {self._read_token(config.token_file)}"
        if config.username:
            login = f"{config.username}:{config.password}".encode()
            return f"Basic {base64.b64encode(login).decode()}"
        return None

    def _is_fresh(self) -> bool:
        if self._exec is None:
            return False
        return self._exec.expires is None or self._clock.now() < self._exec.expires

    def _read_token(self, path: str) -> str:
        now = self._clock.monotonic()
        if self._token_file is None or now >= self._token_file[1]:
            try:
                token = Path(path).read_text().strip()
            except OSError as error:
                raise ConfigError(f"token file {path}: {error.strerror}") from error
            self._token_file = (token, now + TOKEN_FILE_SECONDS)
        return self._token_file[0]


def tls_context(config: ClientConfig) -> ssl.SSLContext:
    """A client context with the configuration's CA and certificate. Raises ConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if config.insecure_skip_tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif config.certificate_authority_data:
            context.load_verify_locations(cadata=config.certificate_authority_data.decode())
        elif config.certificate_authority:
            context.load_verify_locations(cafile=config.certificate_authority)
        else:
            context.load_default_certs()
        _load_identity(context, config)
    except (OSError, ValueError) as error:
        what = config.certificate_authority or config.client_certificate or config.source
        raise ConfigError(f"unable to load TLS configuration ({what}): {error}") from error
    return context


def _load_identity(context: ssl.SSLContext, config: ClientConfig) -> None:
    if not (config.client_certificate_data or config.client_certificate):
        return
    with contextlib.ExitStack() as stack:
        certificate = config.client_certificate
        key = config.client_key
        if config.client_certificate_data:
            certificate = stack.enter_context(_as_file(config.client_certificate_data))
        if config.client_key_data:
            key = stack.enter_context(_as_file(config.client_key_data))
        context.load_cert_chain(certificate, key or None)


@contextlib.contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A path to `content`: OpenSSL's Python binding takes certificates from files only."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("client-identity", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
        return
    import tempfile  # late: for systems without memory files only

    with tempfile.NamedTemporaryFile() as named:  # mode 0600, removed at once
        named.write(content)
        named.flush()
        yield named.name


async def run_plugin(plugin: ExecPlugin, config: ClientConfig) -> ExecCredential:
    """Run an exec plugin and read what it prints. Raises ConfigError with the install hint where it is missing."""
    environ = {**os.environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": json.dumps(exec_info(plugin, config))}
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command, *plugin.args, stdout=asyncio.subprocess.PIPE, env=environ
        )
    except OSError as error:
        hint = f"\n\n{plugin.install_hint}" if plugin.install_hint else ""
        raise ConfigError(f"getting credentials: exec: executable {plugin.command} not found{hint}") from error
    try:
        async with asyncio.timeout(EXEC_SECONDS):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        raise ConfigError(
            f"getting credentials: exec: executable {plugin.command} failed with exit code {process.returncode}"
        )
    return parse_credential(output, plugin)


def exec_info(plugin: ExecPlugin, config: ClientConfig) -> Mapping[str, object]:
    """What the plugin is told in `$KUBERNETES_EXEC_INFO`."""
    spec: dict[str, object] = {"interactive": os.isatty(0)}
    if plugin.provide_cluster_info:
        spec["cluster"] = {
            "server": config.server,
            "tls-server-name": config.tls_server_name,
            "insecure-skip-tls-verify": config.insecure_skip_tls_verify,
            "certificate-authority-data": base64.b64encode(config.certificate_authority_data).decode(),
        }
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def parse_credential(output: bytes, plugin: ExecPlugin) -> ExecCredential:
    """The credential in a plugin's output. Raises ConfigError."""
    try:
        printed = json.loads(output)
        status = printed["status"]
        if printed.get("apiVersion") != plugin.api_version:
            raise ConfigError(
                f"exec plugin is configured to use API version {plugin.api_version}, "
                f"plugin returned version {printed.get('apiVersion')}"
            )
        expires = status.get("expirationTimestamp")
        credential = ExecCredential(
            token=status.get("token") or "",
            certificate=(status.get("clientCertificateData") or "").encode(),
            key=(status.get("clientKeyData") or "").encode(),
            expires=clocks.parse_rfc3339(expires) if expires else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"getting credentials: decoding stdout of {plugin.command}: {error}") from error
    if not credential.token and not credential.certificate:
        raise ConfigError("exec plugin didn't return a token or cert/key pair")
    return credential
