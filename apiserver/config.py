"""The flags of `mini-apiserver`, under upstream's names, and the `Config` that a worker is built from.

Guarantees: `parse` either gives a Config whose files exist and whose values make sense together, or raises ConfigError
with one sentence that says what is wrong. Imports nothing heavy: the supervisor, too, reads its flags here.
"""

from __future__ import annotations

import argparse
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NoReturn

from apiserver.admission import plugins

AUTHORIZERS = ("AlwaysAllow", "AlwaysDeny", "RBAC")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


class DurationError(argparse.ArgumentTypeError, ValueError):
    """The text is no duration. Of both kinds, so that argparse shows its message."""


class ConfigError(ValueError):
    """The flags cannot be used; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Config:
    """What one apiserver serves, from what, and for whom. Field names are the flags' names."""

    etcd_servers: tuple[str, ...]
    bind_address: tuple[str, ...] = ("0.0.0.0",)  # upstream has one; several spare a server from listening everywhere
    secure_port: int = 6443
    workers: int = 2
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    client_ca_file: str = ""
    token_auth_file: str = ""
    basic_auth_file: str = ""
    anonymous_auth: bool = True
    authorization_mode: tuple[str, ...] = ("AlwaysAllow",)
    enable_admission_plugins: tuple[str, ...] = ()
    disable_admission_plugins: tuple[str, ...] = ()
    etcd_cafile: str = ""
    etcd_certfile: str = ""
    etcd_keyfile: str = ""
    etcd_prefix: str = "/registry"
    kubelet_client_certificate: str = ""
    kubelet_client_key: str = ""
    kubelet_certificate_authority: str = ""
    service_account_key_file: tuple[str, ...] = ()
    service_account_signing_key_file: str = ""
    service_account_issuer: tuple[str, ...] = ()
    service_account_jwks_uri: str = ""
    service_account_max_token_expiration: float = 0.0
    service_account_extend_token_expiration: bool = True
    api_audiences: tuple[str, ...] = ()
    proxy_client_cert_file: str = ""
    proxy_client_key_file: str = ""
    enable_aggregator_routing: bool = False
    requestheader_client_ca_file: str = ""
    requestheader_allowed_names: tuple[str, ...] = ()
    requestheader_username_headers: tuple[str, ...] = ("X-Remote-User",)
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_group_headers: tuple[str, ...] = ("X-Remote-Group",)
    requestheader_extra_headers_prefix: tuple[str, ...] = ("X-Remote-Extra-",)
    service_cluster_ip_range: str = "10.96.0.0/16"
    advertise_address: str = ""
    max_requests_inflight: int = 400
    max_mutating_requests_inflight: int = 200
    request_timeout: float = 60.0
    min_request_timeout: float = 1800.0
    shutdown_delay_duration: float = 0.0
    v: int = 0

    @property
    def admission_plugins(self) -> tuple[str, ...]:
        """The plugins that run: all of ours, without the disabled ones, in their one order."""
        return tuple(name for name in plugins.NAMES if name not in self.disable_admission_plugins)

    @property
    def audiences(self) -> tuple[str, ...]:
        """Whom a token must be for."""
        return self.api_audiences or self.service_account_issuer

    @property
    def asks_for_certificates(self) -> bool:
        """Whether clients may show one."""
        return bool(self.client_ca_file or self.requestheader_client_ca_file)

    @property
    def advertised(self) -> str:
        """Where the cluster reaches this server: what the flag says, else the first real address; "" for none."""
        if self.advertise_address:
            return self.advertise_address
        bound = (address for address in self.bind_address if not _is_local(address))
        return next(bound, "")


def _is_local(address: str) -> bool:
    ip = ipaddress.ip_address(address)
    return ip.is_loopback or ip.is_unspecified


def parse(arguments: Sequence[str]) -> Config:
    """The Config that the command line asks for. Raises ConfigError."""
    namespace = _parser().parse_args(arguments)
    config = Config(**{item.name: getattr(namespace, item.name) for item in fields(Config)})
    problem = next(iter(_problems(config)), None)
    if problem:
        raise ConfigError(problem)
    return config


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="mini-apiserver",
        description="The Kubernetes API over HTTPS, stored in etcd. Flags have upstream's names and meaning.",
        allow_abbrev=False,
    )
    _add_serving(parser.add_argument_group("serving"))
    _add_etcd(parser.add_argument_group("etcd"))
    _add_access(parser.add_argument_group("authentication, authorization, admission"))
    _add_service_accounts(parser.add_argument_group("tokens of service accounts"))
    _add_cluster(parser.add_argument_group("nodes and services"))
    _add_aggregation(parser.add_argument_group("extension servers and front proxies"))
    return parser


def _add_serving(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--bind-address", type=_words, default=("0.0.0.0",), metavar="IP,…", help="addresses to listen on"
    )
    group.add_argument(
        "--secure-port", type=int, default=6443, metavar="PORT", help="port to listen on (0: a free one)"
    )
    group.add_argument("--workers", type=int, default=2, metavar="N", help="processes that share the port")
    group.add_argument("--tls-cert-file", default="", metavar="FILE", help="the serving certificate, with its chain")
    group.add_argument("--tls-private-key-file", default="", metavar="FILE", help="its key")
    group.add_argument(
        "--max-requests-inflight", type=int, default=400, metavar="N", help="reads at a time; 0: no limit"
    )
    group.add_argument(
        "--max-mutating-requests-inflight", type=int, default=200, metavar="N", help="writes at a time; 0: no limit"
    )
    group.add_argument(
        "--request-timeout", type=seconds, default=60.0, metavar="DURATION", help="deadline of a request"
    )
    group.add_argument(
        "--min-request-timeout", type=seconds, default=1800.0, metavar="SECONDS", help="least duration of a watch"
    )
    group.add_argument(
        "--shutdown-delay-duration", type=seconds, default=0.0, metavar="DURATION", help="wait before stopping"
    )
    group.add_argument(
        "-v", "--v", type=int, default=0, metavar="LEVEL", help="log level; 4 shows every request's steps"
    )


def _add_etcd(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--etcd-servers", type=_words, required=True, metavar="URL,…", help="etcd's client addresses")
    group.add_argument("--etcd-cafile", default="", metavar="FILE", help="CA of etcd's certificate")
    group.add_argument("--etcd-certfile", default="", metavar="FILE", help="client certificate for etcd")
    group.add_argument("--etcd-keyfile", default="", metavar="FILE", help="its key")
    group.add_argument("--etcd-prefix", default="/registry", metavar="PATH", help="where objects are kept in etcd")


def _add_access(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--client-ca-file", default="", metavar="FILE", help="CA of client certificates (x509)")
    group.add_argument("--token-auth-file", default="", metavar="FILE", help="CSV: token,user,uid[,groups]")
    group.add_argument("--basic-auth-file", default="", metavar="FILE", help="CSV: password,user,uid[,groups]")
    group.add_argument(
        "--anonymous-auth", type=_boolean, default=True, metavar="BOOL", help="let anonymous requests in"
    )
    group.add_argument(
        "--authorization-mode", type=_words, default=("AlwaysAllow",), metavar="MODE,…", help=", ".join(AUTHORIZERS)
    )
    group.add_argument(
        "--enable-admission-plugins", type=_words, default=(), metavar="NAME,…", help="all are on already"
    )
    group.add_argument(
        "--disable-admission-plugins", type=_words, default=(), metavar="NAME,…", help="plugins to leave out"
    )


def _add_service_accounts(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--service-account-key-file",
        action=_Collect,
        default=(),
        metavar="FILE",
        help="keys that tokens are checked with; by default the signing key",
    )
    group.add_argument("--service-account-signing-key-file", default="", metavar="FILE", help="key that signs tokens")
    group.add_argument(
        "--service-account-issuer",
        action=_Collect,
        default=(),
        metavar="URL",
        help="issuer of tokens; more of them are believed, the first one signs",
    )
    group.add_argument("--service-account-jwks-uri", default="", metavar="URL", help="where others find the keys")
    group.add_argument(
        "--service-account-max-token-expiration",
        type=seconds,
        default=0.0,
        metavar="TIME",
        help="tokens that are asked for longer get this time",
    )
    group.add_argument(
        "--service-account-extend-token-expiration",
        type=_boolean,
        nargs="?",
        const=True,
        default=True,
        metavar="BOOL",
        help="let pods' tokens live a year, in case a program does not reload its token",
    )
    group.add_argument(
        "--api-audiences",
        type=_words,
        default=(),
        metavar="NAME,…",
        help="audiences of this server; by default the issuers",
    )


def _add_cluster(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--kubelet-client-certificate", default="", metavar="FILE", help="client certificate for kubelets"
    )
    group.add_argument("--kubelet-client-key", default="", metavar="FILE", help="its key")
    group.add_argument(
        "--kubelet-certificate-authority", default="", metavar="FILE", help="CA of kubelets' certificates"
    )
    group.add_argument(
        "--service-cluster-ip-range", default="10.96.0.0/16", metavar="CIDR", help="addresses of Services"
    )
    group.add_argument("--advertise-address", default="", metavar="IP", help="where the cluster reaches this server")


def _add_aggregation(group: argparse._ArgumentGroup) -> None:
    """Our side towards extension servers, and the other side: who may name users by headers to us."""
    group.add_argument("--proxy-client-cert-file", default="", metavar="FILE", help="certificate for extension servers")
    group.add_argument("--proxy-client-key-file", default="", metavar="FILE", help="its key")
    group.add_argument(
        "--enable-aggregator-routing",
        type=_boolean,
        nargs="?",
        const=True,
        default=False,
        metavar="BOOL",
        help="reach extension servers by their endpoints, not by the cluster IP",
    )
    group.add_argument(
        "--requestheader-client-ca-file", default="", metavar="FILE", help="CA of those who may name users by headers"
    )
    for name, default, text in (
        ("allowed-names", (), "common names of such certificates; none: any"),
        ("username-headers", ("X-Remote-User",), "headers that name the user"),
        ("uid-headers", (), "headers that name the user's uid"),
        ("group-headers", ("X-Remote-Group",), "headers that name groups"),
        ("extra-headers-prefix", ("X-Remote-Extra-",), "prefixes of headers with extra information"),
    ):
        group.add_argument(f"--requestheader-{name}", type=_words, default=default, metavar="NAME,…", help=text)


class _Collect(argparse.Action):
    """A flag that may be repeated, collected into a tuple."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, (*getattr(namespace, self.dest), str(values)))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def seconds(text: str) -> float:
    """A Go duration (`60s`, `1m30s`, `500ms`), or plain seconds. Raises DurationError."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise DurationError(f"{text!r} is not a duration such as 60s")
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)


def _problems(config: Config) -> list[str]:
    problems = [f"--{name.replace('_', '-')}: {reason}" for name, reason in _file_problems(config)]
    for mode in config.authorization_mode:
        if mode not in AUTHORIZERS:
            problems.append(f"--authorization-mode: {mode!r} is none of {', '.join(AUTHORIZERS)}")
    for name in (*config.enable_admission_plugins, *config.disable_admission_plugins):
        if name not in plugins.NAMES:
            problems.append(f"admission plugin {name!r} is none of {', '.join(plugins.NAMES)}")
    if bool(config.tls_cert_file) != bool(config.tls_private_key_file):
        problems.append("--tls-cert-file and --tls-private-key-file must be given together")
    if not config.tls_cert_file:
        problems.append("--tls-cert-file and --tls-private-key-file are required: the API is served over TLS only")
    if not 0 <= config.secure_port <= 65535:
        problems.append(f"--secure-port: {config.secure_port} is not a port")
    if config.workers < 1:
        problems.append("--workers: at least one is needed")
    if config.service_account_signing_key_file and not config.service_account_issuer:
        problems.append("--service-account-issuer is required with --service-account-signing-key-file")
    return problems + _address_problems(config)


def _address_problems(config: Config) -> list[str]:
    problems = []
    if not config.bind_address:
        problems.append("--bind-address: an address is needed")
    flags = [("--bind-address", address) for address in config.bind_address]
    for flag, address in [*flags, ("--advertise-address", config.advertise_address or "127.0.0.1")]:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            problems.append(f"{flag}: {address!r} is not an IP address")
    try:
        ipaddress.ip_network(config.service_cluster_ip_range)
    except ValueError as error:
        problems.append(f"--service-cluster-ip-range: {error}")
    return problems


def _file_problems(config: Config) -> list[tuple[str, str]]:
    """Files that are named but cannot be read."""
    found = []
    for item in fields(Config):
        if not item.name.endswith(("file", "certificate", "authority", "client_key")):
            continue
        value = getattr(config, item.name)
        for path in (value,) if isinstance(value, str) else value:
            reason = _unreadable(path) if path else ""
            if reason:
                found.append((item.name, reason))
    return found


def _unreadable(path: str) -> str:
    try:
        with Path(path).open("rb"):
            return ""
    except OSError as error:
        return f"cannot read {path}: {error.strerror}"
