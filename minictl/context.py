"""What a command may use: streams, the client, the mapper. Everything is made at first use, since start-up is felt."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from client import kubeconfig

if TYPE_CHECKING:
    from client.rest import Client
    from minictl.manifests import Manifest
    from minictl.mapper import Mapper

# `make up` and `minictl up` leave their kubeconfig here: in its folder, no flag is needed
LOCAL_KUBECONFIG = Path(".cluster") / "kubeconfig"
USER_AGENT = "minictl"
FIELD_MANAGER = "minictl"


class Context:
    """One run of minictl."""

    def __init__(
        self, args: argparse.Namespace, out: TextIO, err: TextIO, stdin: TextIO, environ: Mapping[str, str], cwd: Path
    ) -> None:
        self.args = args
        self.out = out
        self.err = err
        self.stdin = stdin
        self.environ = environ
        self.cwd = cwd
        self._config: kubeconfig.ClientConfig | None = None
        self._client: Client | None = None
        self._mapper: Mapper | None = None

    @property
    def config(self) -> kubeconfig.ClientConfig:
        """The server and identity (K4). Raises ConfigError."""
        if self._config is None:
            home = Path(self.environ.get("HOME", "/")) / ".kube" / "config"
            args = self.args
            self._config = kubeconfig.load(
                args.kubeconfig,
                context=args.context,
                overrides=_overrides(args),
                environ=self.environ,
                defaults=[self.cwd / LOCAL_KUBECONFIG, home],
            )
            if args.v >= 6:
                self.err.write(f"K4 kubeconfig {self._config.source}, context {self._config.context!r}\n")
        return self._config

    @property
    def namespace(self) -> str:
        """`-n`, else the context's namespace, else `default`."""
        return self.args.namespace or self.config.namespace

    @property
    def client(self) -> Client:
        if self._client is None:
            from client import rest, transport
            from client.commandhttp import CommandTransport
            from minictl.wiretap import Wiretap

            seconds = self.request_seconds
            self._client = rest.Client(
                self.config,
                user_agent=USER_AGENT,
                observer=Wiretap(self.err, self.args.v),
                make_transport=lambda tls: CommandTransport(tls, transport.socket_options(), seconds),
            )
        return self._client

    @property
    def request_seconds(self) -> float | None:
        """`--request-timeout`; None is no limit. Raises Refused."""
        from minictl import durations

        text = self.args.request_timeout
        return durations.parse(text, "--request-timeout") or None if text else None

    async def mapper(self) -> Mapper:
        """The server's resources by every name they have (K3)."""
        if self._mapper is None:
            from minictl import discovery
            from minictl.mapper import Mapper

            cache = discovery.Cache(discovery.cache_folder(self.args.cache_dir, self.environ), self.config)
            self._mapper = Mapper(discovery.Discovery(self.client, cache), self.warn)
        return self._mapper

    def manifests(self, args: argparse.Namespace) -> list[Manifest]:
        """The objects of `-f`."""
        from minictl import manifests

        return manifests.read(args.filename, self.stdin, recursive=args.recursive)

    def write(self, text: str) -> None:
        """A line, or several, to the standard output."""
        self.out.write(text if text.endswith("\n") else f"{text}\n")

    def warn(self, text: str) -> None:
        self.err.write(text if text.endswith("\n") else f"{text}\n")

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


def _overrides(args: argparse.Namespace) -> kubeconfig.Overrides:
    impersonate = None
    if args.as_user or args.as_group or args.as_uid:
        impersonate = kubeconfig.Impersonation(args.as_user or "", args.as_uid or "", tuple(args.as_group or ()))
    return kubeconfig.Overrides(
        server=args.server or "",
        cluster=args.cluster or "",
        user=args.user or "",
        certificate_authority=args.certificate_authority or "",
        insecure_skip_tls_verify=args.insecure_skip_tls_verify,
        tls_server_name=args.tls_server_name or "",
        client_certificate=args.client_certificate or "",
        client_key=args.client_key or "",
        token=args.token or "",
        username=args.username or "",
        password=args.password or "",
        impersonate=impersonate,
    )
