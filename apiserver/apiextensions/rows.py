"""The rows of the resource table that a definition asks for, one a served version."""

from __future__ import annotations

from apimachinery import schemas
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.apiextensions import columns, conditions
from apiserver.apiextensions.conversion import Converter
from apiserver.apiextensions.custom import Custom
from apiserver.apiextensions.version import Version
from apiserver.scheme import table
from apiserver.scheme.resources import Resource, Subresource

SCALE = GVK("autoscaling", "v1", "Scale")
_VERSIONS = frozenset((row.group, row.version) for row in table.BUILTIN)
_PREFIXES = frozenset(row.prefix for row in table.BUILTIN)
_SUBRESOURCE_VERBS = ("get", "patch", "update")


def served(definition: Object, known: schemas.Schemas, converter: Converter) -> list[Resource]:
    """The rows of an established definition; none while it is not."""
    if not conditions.is_true(definition, conditions.ESTABLISHED):
        return []
    wanted = [spec for spec in definition["spec"]["versions"] if spec.get("served")]
    wanted.sort(key=lambda spec: not spec.get("storage"))  # the stored form first, as discovery's hashes expect
    made = [row(definition, spec, known, converter) for spec in wanted]
    return [row for row in made if not is_built_in(row)]


def is_built_in(row: Resource) -> bool:
    """Whether the group-version, or the place in etcd, is a built-in kind's.

    Such a definition is accepted, as upstream, but not served, and no objects are removed with it: they are others'.
    """
    return (row.group, row.version) in _VERSIONS or row.prefix in _PREFIXES


def stored(definition: Object, known: schemas.Schemas, converter: Converter) -> Resource:
    """The row of the version in which objects are kept, served or not."""
    spec = next(spec for spec in definition["spec"]["versions"] if spec.get("storage"))
    return row(definition, spec, known, converter)


def row(definition: Object, spec: Object, known: schemas.Schemas, converter: Converter) -> Resource:
    wanted = definition["spec"]
    names = (definition.get("status") or {}).get("acceptedNames") or wanted["names"]
    version = Version(definition, spec, known)
    return Resource(
        wanted["group"],
        spec["name"],
        wanted["names"]["plural"],
        names["kind"],
        names.get("singular") or "",
        wanted["scope"] == "Namespaced",
        f"/registry/{wanted['group']}/{wanted['names']['plural']}",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=_subresources(version),
        columns=columns.of(spec),
        selectable_fields=tuple(
            field["jsonPath"].removeprefix(".") for field in spec.get("selectableFields") or () if field.get("jsonPath")
        ),
        deprecation=_deprecation(definition, spec),
        list_name=names.get("listKind") or "",
        custom=Custom(version, converter),
    )


def _deprecation(definition: Object, spec: Object) -> str:
    """Upstream names the best version that is not deprecated, unless the definition has words of its own."""
    if not spec.get("deprecated"):
        return ""
    own = spec.get("deprecationWarning")
    if own is not None:
        return str(own)
    group, kind = definition["spec"]["group"], definition["spec"]["names"]["kind"]
    return f"{group}/{spec['name']} {kind} is deprecated"


def _subresources(version: Version) -> tuple[Subresource, ...]:
    found = []
    if version.has_status:
        found.append(Subresource("status", _SUBRESOURCE_VERBS))
    if version.scale is not None:
        found.append(Subresource("scale", _SUBRESOURCE_VERBS, SCALE))
    return tuple(found)
