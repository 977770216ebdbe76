"""One worker process: the wiring of an apiserver, and its life from the first load of etcd to the last watch.

Forked by the supervisor, which gives it its number, the port that all share, a pipe that ends when the supervisor does,
and the file of the metrics. Ends with `supervisor.EXIT_CONFIG` when another try cannot help (a bad certificate, a bad
token file).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Iterator

import uvicorn

from apimachinery.clock import Clock, SystemClock
from apiserver import app, bootstrap, config, gauges, inflight, metrics, server, supervisor
from apiserver.admission import chain as admission
from apiserver.admission import plugins
from apiserver.admission.policies import definitions
from apiserver.admission.webhooks import calling, configuration, reviewing
from apiserver.aggregation import wiring
from apiserver.apiextensions.wiring import Extensions
from apiserver.authentication import authorities, csvfile, requestheader, tokens, union, x509
from apiserver.authorization import escalation, expressions, rbac
from apiserver.authorization import union as authorizers
from apiserver.authorization.attributes import Authorizer
from apiserver.filters import chain
from apiserver.handlers import aggregation, discovery, health, index, issuer, openapi, resources, reviews, watch
from apiserver.handlers.connect import kubelets, pods, proxy
from apiserver.registry.registry import Registry
from apiserver.scheme.scheme import Scheme
from apiserver.serviceaccounts import wiring as service_accounts
from apiserver.storage import types
from apiserver.storage.store import Store

_log = logging.getLogger("apiserver")

# Longer than the 75 to 90 s that clients keep their idle connections, so that it is never we who close one in use
_KEEP_ALIVE_SECONDS = 120
_GRACEFUL_SECONDS = 10
_BACKLOG = 2048
_FLUSH_SECONDS = 1.0
# What the index shows beside discovery's and health's paths
_OTHER_PATHS = (issuer.CONFIGURATION, issuer.KEYS, "/metrics", "/openapi/v2", "/openapi/v3", "/version")


class Worker:
    """Everything that one process holds."""

    def __init__(self, settings: config.Config, index: int, port: int, shared: int) -> None:
        self._config = settings
        self._port = port
        self._index = index
        self._clock: Clock = SystemClock()
        slots = metrics.Slots(shared, settings.workers)
        self._metrics = metrics.Metrics(slots, index)
        self._running = inflight.Running(shared, slots.end, index, settings.workers)
        self._scheme = Scheme.builtin()
        self._store = Store(
            settings.etcd_servers,
            tls=_etcd_tls(settings),
            prefix=f"{settings.etcd_prefix}/",
            observe=self._metrics.etcd_call,
        )
        self._rbac = rbac.RBAC()
        self._mutating = configuration.Webhooks(configuration.MUTATING)
        self._validating = configuration.Webhooks(configuration.VALIDATING)
        self._policies = definitions.Policies(definitions.VALIDATING)
        self._mutating_policies = definitions.Policies(definitions.MUTATING)
        self._caller = calling.Caller(self._store)
        self._extensions = Extensions(self._scheme, self._store, self._clock, self._caller)
        self._authorizer = self._authorizers()
        self._admission = self._admission_chain()
        self._registry = Registry(
            self._scheme, self._store, self._admission, self._clock, service_cidr=settings.service_cluster_ip_range
        )
        self._tokens = service_accounts.Tokens(settings, self._store, self._clock)
        self._bearer = self._bearer_tokens()
        self._aggregation = wiring.Aggregation(settings, self._scheme, self._store, self._clock)
        self._bootstrapped = False
        self.stopping = False
        gauges.add(self._metrics, self._running, self._scheme, self._store, self._aggregation)

    def application(self) -> app.Application:
        return app.Application(
            self._handlers(),
            chain.Wiring(
                self._config, self._clock, self._metrics, self._running, self._authenticators(), self._authorizer
            ),
        )

    @contextlib.asynccontextmanager
    async def life(self) -> AsyncIterator[None]:
        """Within it requests can be served. Raises Unavailable when etcd does not answer."""
        await self._store.start()
        admitting = (self._mutating, self._validating, self._policies, self._mutating_policies)
        for follower in (self._rbac, *admitting, self._extensions, self._aggregation):
            follower.follow(self._store)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._bootstrap()), group.create_task(self._registry.run())]
            tasks.append(group.create_task(self._flush()))
            if self._index == 0:
                tasks.append(group.create_task(self._extensions.run(self._registry)))
            tasks.append(group.create_task(self._aggregation.run(self._registry, controls=self._index == 0)))
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
        await self._caller.close()
        await self._store.stop()

    async def _bootstrap(self) -> None:
        """The first worker makes what every cluster has; the others see it come."""
        if self._index == 0:
            own = bootstrap.own_service(self._config.service_cluster_ip_range, self._config.advertised, self._port)
            own.append(bootstrap.authentication_of_clients(self._config))
            await bootstrap.Bootstrap(self._registry, self._store, self._clock, own).run()
        while self._store.cached("/registry/clusterrolebindings/cluster-admin") is None:
            await self._clock.sleep(0.05)
        self._bootstrapped = True

    async def _flush(self) -> None:
        while True:
            self._metrics.flush()
            await self._clock.sleep(_FLUSH_SECONDS)

    def _handlers(self) -> app.Handlers:
        address = f"{self._config.advertised or self._config.bind_address[0]}:{self._port}"
        generic = resources.Resources(
            self._scheme,
            self._registry,
            discovery.Discovery(self._aggregation.catalog, address),
            watch.Watches(self._registry, self._config.min_request_timeout, self._metrics),
            {**self._reviews().handlers(), **self._connections(), **self._tokens.handlers(self._registry)},
            self._clock.now,
            self._metrics,
        )
        checks = health.Health(self._checks())
        return app.Handlers(
            generic,
            checks,
            openapi.OpenAPI(self._scheme, self._aggregation.remotes, self._aggregation.documents),
            self._metrics,
            aggregation.Aggregator(self._aggregation.remotes, self._aggregation.front_proxy),
            self._tokens.documents(address),
            index.Index(self._aggregation.catalog, checks, _OTHER_PATHS),
        )

    def _checks(self) -> dict[str, dict[str, health.Check]]:
        """Upstream's names, for what there is of them."""
        first: dict[str, health.Check] = {"ping": health.ping, "etcd": self._check_etcd}
        only_ready: dict[str, health.Check] = {
            "etcd-readiness": self._check_etcd,
            "informer-sync": self._check_cache,
        }
        hooks: dict[str, health.Check] = {
            "poststarthook/start-kube-apiserver-admission-initializer": self._check_cache,
            "poststarthook/rbac/bootstrap-roles": self._check_bootstrap,
            "poststarthook/scheduling/bootstrap-system-priority-classes": self._check_bootstrap,
            "poststarthook/start-cluster-authentication-info-controller": self._check_bootstrap,
            "poststarthook/apiservice-registration-controller": self._aggregation.registered,
            "autoregister-completion": self._aggregation.registered,
        }
        everything = first | hooks
        return {
            "livez": everything,
            "healthz": everything,
            "readyz": first | only_ready | hooks | {"shutdown": self._check_shutdown},
        }

    async def _check_shutdown(self) -> str:
        return "process is shutting down" if self.stopping else ""

    async def _check_etcd(self) -> str:
        try:
            await self._store.health()
        except types.StorageError as error:
            return str(error)
        return ""

    async def _check_cache(self) -> str:
        return "" if self._store.ready else "the watch cache is not up to date"

    async def _check_bootstrap(self) -> str:
        return "" if self._bootstrapped else "not finished"

    def _reviews(self) -> reviews.Reviews:
        rules = self._rbac if "RBAC" in self._config.authorization_mode else None
        return reviews.Reviews(
            self._registry, self._authorizer, rules, self._bearer, self._config.audiences, self._clock
        )

    def _connections(self) -> dict[tuple[str, str, str], resources.Special]:
        reached = kubelets.Kubelets(self._config, self._store)
        streams = pods.Connections(self._registry, reached, self._authorizer, self._admission)
        return {**streams.handlers(), **proxy.Proxies(self._store, reached, random.SystemRandom()).handlers()}

    def _bearer_tokens(self) -> tokens.Bearer:
        """Without a kind of token, every bearer token is one that nobody knows."""
        kinds: list[tokens.TokenAuthenticator] = []
        if self._config.token_auth_file:
            kinds.append(tokens.TokenFile(self._users(self._config.token_auth_file, "token")))
        of_accounts = self._tokens.authenticator
        if of_accounts is not None:
            kinds.append(of_accounts)
        return tokens.Bearer(kinds)

    def _authenticators(self) -> union.Union:
        settings, found = self._config, list[union.Authenticator]()
        proxies = settings.requestheader_client_ca_file
        if proxies:
            found.append(requestheader.RequestHeader(_header_names(settings), _authority(proxies)))
        if settings.client_ca_file:
            found.append(x509.X509(_authority(settings.client_ca_file) if proxies else None))
        found.append(self._bearer)
        if settings.basic_auth_file:
            found.append(tokens.Basic(self._users(settings.basic_auth_file, "basic")))
        return union.Union(found, anonymous=settings.anonymous_auth)

    def _users(self, path: str, authenticator: str) -> csvfile.UserFile:
        users = csvfile.UserFile(path, authenticator, self._clock, named=authenticator == "basic")
        try:
            users.load()
        except csvfile.UserFileError as error:
            raise config.ConfigError(str(error)) from error
        return users

    def _authorizers(self) -> Authorizer:
        modes: dict[str, Authorizer] = {
            "AlwaysAllow": authorizers.AlwaysAllow(),
            "AlwaysDeny": authorizers.AlwaysDeny(),
            "RBAC": self._rbac,
        }
        chosen = [modes[mode] for mode in self._config.authorization_mode]
        return authorizers.Union([authorizers.PrivilegedGroup(), *chosen])

    def _admission_chain(self) -> admission.Chain:
        """The plugins that the flags leave, then what no flag switches off."""
        decide = expressions.decider(self._authorizer)
        mutating = reviewing.Reviewer(self._store, self._mutating, self._caller, decide)
        validating = reviewing.Reviewer(self._store, self._validating, self._caller, decide)
        parts = plugins.Parts(
            store=self._store,
            scheme=self._scheme,
            clock=self._clock,
            mutating=mutating,
            validating=validating,
            policies=self._policies,
            mutating_policies=self._mutating_policies,
            decide=decide,
        )
        return admission.Chain([*plugins.build(parts, self._config.admission_plugins), *self._guards()])

    def _guards(self) -> list[admission.Plugin]:
        if "RBAC" not in self._config.authorization_mode:
            return []
        return [escalation.Escalation(self._rbac, self._authorizer)]


def _header_names(settings: config.Config) -> requestheader.Names:
    return requestheader.Names(
        allowed=settings.requestheader_allowed_names,
        user=settings.requestheader_username_headers,
        uid=settings.requestheader_uid_headers,
        groups=settings.requestheader_group_headers,
        extra_prefixes=settings.requestheader_extra_headers_prefix,
    )


def _authority(path: str) -> authorities.Authority:
    try:
        return authorities.Authority(path)
    except ValueError as error:
        raise config.ConfigError(str(error)) from error


def _etcd_tls(settings: config.Config) -> types.TlsFiles | None:
    if not settings.etcd_cafile:
        return None
    return types.TlsFiles(settings.etcd_cafile, settings.etcd_certfile, settings.etcd_keyfile)


class Server(uvicorn.Server):
    """uvicorn's server, which after a signal returns: uvicorn itself would die of it before anything is tidied up.

    With `--shutdown-delay-duration` it serves on for that long, but no longer says that it is ready.
    """

    def __init__(self, config: uvicorn.Config, worker: Worker, delay_seconds: float) -> None:
        super().__init__(config)
        self._worker = worker
        self._delay_seconds = delay_seconds

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        yield
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

    def stop(self) -> None:
        self._worker.stopping = True
        asyncio.get_running_loop().call_later(self._delay_seconds, self._exit)

    def _exit(self) -> None:
        self.should_exit = True


def serve(settings: config.Config, index: int, port: int, alive: int, shared: int) -> None:
    """Runs until a signal, or until the supervisor is gone."""
    listening = [supervisor.bind_shared(address, port) for address in settings.bind_address]
    worker = Worker(settings, index, port, shared)
    uvicorn_config = uvicorn.Config(
        worker.application(),
        loop="uvloop",
        http=server.Protocol,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACEFUL_SECONDS,
        backlog=_BACKLOG,
        ssl_certfile=settings.tls_cert_file,
        ssl_keyfile=settings.tls_private_key_file,
        ssl_ca_certs=settings.client_ca_file or None,
        ssl_cert_reqs=ssl.CERT_OPTIONAL if settings.asks_for_certificates else ssl.CERT_NONE,
    )
    uvicorn_config.load()
    if settings.requestheader_client_ca_file and uvicorn_config.ssl is not None:
        uvicorn_config.ssl.load_verify_locations(settings.requestheader_client_ca_file)
    serving = Server(uvicorn_config, worker, settings.shutdown_delay_duration)
    with asyncio.Runner(loop_factory=uvicorn_config.get_loop_factory()) as runner:
        runner.run(_run(worker, serving, listening, alive))


async def _run(worker: Worker, serving: Server, listening: list[socket.socket], alive: int) -> None:
    def orphaned() -> None:
        asyncio.get_running_loop().remove_reader(alive)
        serving.stop()

    asyncio.get_running_loop().add_reader(alive, orphaned)
    async with worker.life():
        await serving.serve(sockets=listening)


def main(settings: config.Config, index: int, port: int, alive: int, shared: int) -> int:
    """A worker's whole life (`supervisor.Serve`)."""
    _set_up_logging(settings.v)
    try:
        serve(settings, index, port, alive, shared)
    except (config.ConfigError, ssl.SSLError) as error:
        sys.stderr.write(f"mini-apiserver: {error}\n")
        return supervisor.EXIT_CONFIG
    return 0


def _set_up_logging(level: int) -> None:
    logging.basicConfig(
        level=logging.DEBUG if level >= 4 else logging.INFO,
        format="%(asctime)s %(levelname).1s %(process)d %(name)s %(message)s",
    )
    for chatty in ("asyncio", "uvicorn", "uvicorn.error", "httpx", "hpack"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
