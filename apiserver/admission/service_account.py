"""ServiceAccount: a pod runs as an account that exists, its namespace's `default` unless it names one.

From the account a pod takes its image pull secrets where it has none of its own. An account with the annotation
`kubernetes.io/enforce-mountable-secrets` limits its pods to the secrets that it lists. A mirror pod, the picture of a
static one, may use neither accounts nor secrets: a node's file must not reach what the API guards.

Does not mount the account's token.
Source: https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/
"""

from __future__ import annotations

from apimachinery import errors
from apimachinery.clock import Clock
from apimachinery.objects import Object
from apiserver.admission import pod_secrets
from apiserver.admission.chain import Review
from apiserver.admission.plugins import Parts
from apiserver.storage import types
from apiserver.storage.store import Store

DEFAULT = "default"
_MIRROR = "kubernetes.io/config.mirror"
_ENFORCE = "kubernetes.io/enforce-mountable-secrets"
# A controller makes the default account a moment after its namespace: a pod made in between is worth a second or so
_DEFAULT_ATTEMPTS = 10
_RETRY_SECONDS = 0.15


def make(parts: Parts) -> ServiceAccount:
    return ServiceAccount(parts.store, parts.clock)


class ServiceAccount:
    name = "ServiceAccount"

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def handles(self, operation: str) -> bool:
        return operation in ("CREATE", "UPDATE")

    async def mutate(self, review: Review) -> Object | None:
        pod = review.obj
        if pod is None or not _creates_pod(review) or _is_mirror(pod):
            return pod
        spec = pod["spec"]
        spec["serviceAccountName"] = spec["serviceAccount"] = spec.get("serviceAccountName") or DEFAULT
        account = await self._account(review, pod)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [dict(one) for one in account["imagePullSecrets"]]
        return pod

    async def validate(self, review: Review) -> None:
        pod = review.obj
        if pod is None or not (_creates_pod(review) or _adds_ephemeral(review)):
            return
        if _is_mirror(pod):
            problem = _mirror_problem(pod)
        elif not pod["spec"].get("serviceAccountName"):  # a webhook may have taken it away
            problem = f"no service account specified for pod {review.call.namespace}/{review.name}"
        else:
            problem = _limit_problem(review, pod, await self._account(review, pod))
        if problem:
            raise errors.forbidden("", "pods", review.name, problem)

    async def _account(self, review: Review, pod: Object) -> Object:
        """The account that the pod names. Raises Forbidden, in the end, when there is none."""
        namespace, name = review.call.namespace, pod["spec"]["serviceAccountName"]
        key = f"/registry/serviceaccounts/{namespace}/{name}"
        stored = self._store.cached(key) or await self._find(key, attempts=_DEFAULT_ATTEMPTS if name == DEFAULT else 1)
        if stored is None:
            why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
            raise errors.forbidden("", "pods", review.name, why)
        return stored.object

    async def _find(self, key: str, attempts: int) -> types.Stored | None:
        """Asks etcd itself: the account may have come through another apiserver a moment ago."""
        for attempt in range(attempts):
            if attempt:
                await self._clock.sleep(_RETRY_SECONDS)
            try:
                stored = await self._store.get(key)
            except types.StorageError as error:
                raise errors.ServiceUnavailable(f"service account {key} could not be read: {error}") from error
            if stored is not None:
                return stored
        return None


def _creates_pod(review: Review) -> bool:
    return _is_pod(review) and review.operation == "CREATE" and not review.call.subresource


def _adds_ephemeral(review: Review) -> bool:
    return _is_pod(review) and review.operation == "UPDATE" and review.call.subresource == "ephemeralcontainers"


def _is_pod(review: Review) -> bool:
    row = review.call.resource
    return row.resource == "pods" and not row.group


def _is_mirror(pod: Object) -> bool:
    return _MIRROR in (pod["metadata"].get("annotations") or {})


def _mirror_problem(pod: Object) -> str:
    if pod["spec"].get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    if any(pod_secrets.names(pod)):
        return "a mirror pod may not reference secrets"
    volumes = pod["spec"].get("volumes") or []
    if any(source.get("serviceAccountToken") for volume in volumes for source in pod_secrets.projected(volume)):
        return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""


def _limit_problem(review: Review, pod: Object, account: Object) -> str:
    """The first secret that the account does not list, where it insists on its list."""
    enforced = str((account["metadata"].get("annotations") or {}).get(_ENFORCE)).lower()
    if enforced not in ("1", "t", "true"):
        return ""
    if _adds_ephemeral(review):
        return next(pod_secrets.unlisted_ephemeral(pod["spec"], account), "")
    return next(pod_secrets.unlisted(pod["spec"], account), "")
