"""What a worker has of service accounts' tokens, by its flags: who checks and makes them, who publishes the keys."""

from __future__ import annotations

from apimachinery.clock import Clock
from apimachinery.objects import Object
from apiserver.asgi import Receive, Send
from apiserver.authentication.serviceaccounts import ServiceAccounts
from apiserver.config import Config, ConfigError
from apiserver.handlers import discovery, issuer, resources
from apiserver.handlers.tokenrequests import TokenRequests
from apiserver.registry.call import Call
from apiserver.registry.registry import Registry
from apiserver.request import Request
from apiserver.serviceaccounts import keys, tokens
from apiserver.storage.store import Store


class Tokens:
    """Raises ConfigError for keys that cannot be used."""

    def __init__(self, config: Config, store: Store, clock: Clock) -> None:
        self._config = config
        self._store = store
        self._clock = clock
        signing = config.service_account_signing_key_file
        try:
            self._signing = keys.signing(signing) if signing else None
            self._keys = keys.checking(config.service_account_key_file)
        except keys.KeyFileError as error:
            raise ConfigError(str(error)) from error
        if self._signing is not None and not self._keys:
            self._keys = [self._signing.key]

    @property
    def authenticator(self) -> ServiceAccounts | None:
        """None without keys and an issuer: then no token is one of ours."""
        if not self._keys or not self._config.service_account_issuer:
            return None
        checker = tokens.Checker(self._keys, self._config.service_account_issuer, self._clock)
        return ServiceAccounts(checker, self._config.audiences, self._object, self._clock)

    def handlers(self, registry: Registry) -> dict[tuple[str, str, str], resources.Special]:
        place = ("", "serviceaccounts", "token")
        if self._signing is None or not self._config.service_account_issuer:
            return {place: _absent}
        requests = TokenRequests(
            registry,
            tokens.Signer(self._signing),
            self._config.service_account_issuer[0],
            self._config.audiences,
            self._clock,
            max_seconds=int(self._config.service_account_max_token_expiration),
            extend=self._config.service_account_extend_token_expiration,
        )
        return {place: requests.create}

    def documents(self, address: str) -> issuer.Issuer:
        """`address` is where this server is reached."""
        names = self._config.service_account_issuer
        jwks = self._config.service_account_jwks_uri or f"https://{address}{issuer.KEYS}"
        return issuer.Issuer(names[0] if names else "", jwks, self._keys)

    def _object(self, key: str) -> Object | None:
        stored = self._store.cached(key)
        return None if stored is None else stored.object


async def _absent(request: Request, call: Call, receive: Receive, send: Send) -> None:
    """Upstream has no such subresource without a signing key."""
    raise discovery.not_found()
