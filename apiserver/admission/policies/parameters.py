"""The objects that a binding gives to its policy as `params`, from the watch cache."""

from __future__ import annotations

from apimachinery import selectors
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.scheme.resources import Resource
from apiserver.scheme.scheme import Scheme
from apiserver.storage.store import Store


class ParametersMissing(Exception):
    """The policy cannot be asked: the failure policy says what that means."""


class Parameters:
    def __init__(self, store: Store, scheme: Scheme) -> None:
        self._store = store
        self._scheme = scheme

    def collect(self, kind: Object | None, reference: Object | None, namespace: str) -> list[Object | None]:
        """One evaluation for each; [None] for a policy without. Raises ParametersMissing."""
        if kind is None or reference is None:
            return [None]
        row = self._row(kind)
        found = self._referenced(row, reference, _namespace(row, reference, namespace))
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            raise ParametersMissing("no params found for policy binding with `Deny` parameterNotFoundAction")
        return [{**obj, "apiVersion": kind["apiVersion"], "kind": kind["kind"]} for obj in found]

    def _row(self, kind: Object) -> Resource:
        group, _, version = kind["apiVersion"].rpartition("/")
        row = self._scheme.by_kind(GVK(group, version, kind["kind"]))
        if row is None:
            raise ParametersMissing(f"paramKind kind `{kind['apiVersion']}, Kind={kind['kind']}` not known")
        return row

    def _referenced(self, row: Resource, reference: Object, namespace: str) -> list[Object]:
        if reference.get("name"):
            stored = self._store.cached(row.key(namespace, reference["name"]))
            return [stored.object] if stored is not None else []
        if reference.get("selector") is None:
            raise ParametersMissing("one of name or selector must be provided")
        wanted = selectors.from_label_selector(reference["selector"])
        listed = (stored.object for stored in self._store.cached_list(row.range(namespace)))
        return [obj for obj in listed if wanted.matches(obj["metadata"].get("labels"))]


def _namespace(row: Resource, reference: Object, namespace: str) -> str:
    given = reference.get("namespace") or ""
    if not row.namespaced:
        if given:
            raise ParametersMissing("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not given and not namespace:
        text = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        raise ParametersMissing(text)
    return given or namespace
