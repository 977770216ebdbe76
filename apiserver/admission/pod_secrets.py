"""Which secrets a pod names, and which of them its service account does not list. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apimachinery.objects import Object

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
# How volume sources other than `secret` name one
_SOURCE_FIELDS = ("secretRef", "nodePublishSecretRef")


def names(pod: Object) -> Iterator[str]:
    """Every secret that a pod refers to, wherever it does."""
    spec = pod["spec"]
    yield from _listed(spec.get("imagePullSecrets"))
    for kind in _CONTAINERS:
        for container in spec.get(kind) or []:
            yield from (name for _, name in _env(container))
            yield from _listed(source.get("secretRef") for source in container.get("envFrom") or [])
    for volume in spec.get("volumes") or []:
        yield from _in_volume(volume)


def projected(volume: Object) -> list[Object]:
    """The sources of a projected volume."""
    return (volume.get("projected") or {}).get("sources") or []


def unlisted(spec: Object, account: Object) -> Iterator[str]:
    """What upstream says of each secret of a new pod that its account does not list."""
    listed = set(_listed(account.get("secrets")))
    why = f"is not allowed because service account {account['metadata']['name']} does not reference that"
    for volume in spec.get("volumes") or []:
        name = (volume.get("secret") or {}).get("secretName")
        if name and name not in listed:
            yield f'volume with secret.secretName="{name}" {why} secret'
    for kind, word in (("initContainers", "init container"), ("containers", "container")):
        yield from _unlisted_env(spec.get(kind) or [], word, listed, f"{why} secret")
    pull = set(_listed(account.get("imagePullSecrets")))
    for index, name in enumerate(_listed(spec.get("imagePullSecrets"))):
        if name not in pull:
            yield f'imagePullSecrets[{index}].name="{name}" {why} imagePullSecret'


def unlisted_ephemeral(spec: Object, account: Object) -> Iterator[str]:
    """The same of containers that are added to a running pod."""
    why = f"is not allowed because service account {account['metadata']['name']} does not reference that secret"
    listed = set(_listed(account.get("secrets")))
    yield from _unlisted_env(spec.get("ephemeralContainers") or [], "ephemeral container", listed, why)


def _unlisted_env(containers: list[Object], word: str, listed: set[str], why: str) -> Iterator[str]:
    for container in containers:
        for variable, name in _env(container):
            if name not in listed:
                where = f"{word} {container['name']} with envVar {variable}"
                yield f'{where} referencing secret.secretName="{name}" {why}'


def _env(container: Object) -> Iterator[tuple[str, str]]:
    """(variable, secret) of each variable that comes from a secret."""
    for variable in container.get("env") or []:
        name = ((variable.get("valueFrom") or {}).get("secretKeyRef") or {}).get("name")
        if name:
            yield variable["name"], name


def _in_volume(volume: Object) -> Iterator[str]:
    for kind, source in volume.items():
        if not isinstance(source, dict):
            continue
        if source.get("secretName") and kind in ("secret", "azureFile"):
            yield source["secretName"]
        yield from _listed(source.get(field) for field in _SOURCE_FIELDS)
    yield from _listed(source.get("secret") for source in projected(volume))


def _listed(references: Iterable[Object | None] | None) -> Iterator[str]:
    """The names of references `{name: …}`; what is missing or nameless is none."""
    for reference in references or ():
        if reference and reference.get("name"):
            yield reference["name"]
