"""What may stand in a CustomResourceDefinition, with upstream's words.

Source: https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.apiextensions import clientconfigs, conditions, naming, printing, rules, schemas
from apiserver.apiextensions.structural import VALIDATIONS
from apiserver.registry.validation import causes

SCOPES = ("Cluster", "Namespaced")
_STRATEGIES = ("None", "Webhook")


def problems(definition: Object) -> list[Cause]:
    """Of a new definition."""
    found = _name(definition) + _spec(definition)
    group = definition["spec"].get("group") or ""
    if naming.is_protected(group):
        found += _approval(definition)
    return found


def update_problems(new: Object, old: Object) -> list[Cause]:
    """Of a changed one: what has been told of the old one already is not told again where it is unchanged."""
    spec, before = new["spec"], old["spec"]
    rules_before = frozenset(text for version in before["versions"] for text in _rule_texts(version.get("schema")))
    found = _spec(new, rules_before)
    if found:
        known = {(cause.field, cause.message) for cause in _spec(old, rules_before)}
        found = [cause for cause in found if (cause.field, cause.message) not in known]
    found += status_problems(new)
    if conditions.is_true(old, conditions.ESTABLISHED):
        found += _immutable(spec, before, "scope")
        found += _immutable(spec["names"], before["names"], "kind", "names.")
    found += _immutable(spec, before, "group")
    found += _immutable(spec["names"], before["names"], "plural", "names.")
    return found


def status_problems(definition: Object) -> list[Cause]:
    """Of what is said to be stored: who kept objects in a version must keep the version."""
    stored = (definition.get("status") or {}).get("storedVersions") or []
    versions = {version["name"] for version in definition["spec"]["versions"]}
    found = [
        causes.invalid(
            f"status.storedVersions[{index}]",
            name,
            f"missing from spec.versions; {name} was previously a "
            "storage version, and must remain in spec.versions until a storage migration ensures no data "
            f"remains persisted in {name} and removes {name} from status.storedVersions",
        )
        for index, name in enumerate(stored)
        if name not in versions
    ]
    storage = next((version["name"] for version in definition["spec"]["versions"] if version.get("storage")), None)
    if storage is not None and storage not in stored:
        text = f"must have the storage version {storage}"
        found.append(causes.invalid("status.storedVersions", stored, text))
    return found + _names((definition.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def _name(definition: Object) -> list[Cause]:
    spec, name = definition["spec"], definition["metadata"].get("name") or ""
    wanted = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"
    return [] if name == wanted else [causes.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def _approval(definition: Object) -> list[Cause]:
    text = (definition["metadata"].get("annotations") or {}).get(naming.APPROVAL) or ""
    field = f"metadata.annotations[{naming.APPROVAL}]"
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    if not text:
        return [causes.required(field, f'protected groups must have approval annotation "{naming.APPROVAL}", {see}')]
    if not text.startswith(("https://", "http://", "unapproved")):
        why = f'protected groups must have approval annotation "{naming.APPROVAL}" with either a URL or a reason'
        return [causes.invalid(field, text, f'{why} starting with "unapproved", {see}')]
    return []


def _spec(definition: Object, rules_before: frozenset[str] = frozenset()) -> list[Cause]:
    spec = definition["spec"]
    found = _group(spec.get("group") or "")
    scope = spec.get("scope") or ""
    if not scope:
        found.append(causes.required("spec.scope"))
    elif scope not in SCOPES:
        found.append(causes.unsupported("spec.scope", scope, SCOPES))
    found += _versions(spec, rules_before)
    wanted = spec.get("names") or {}
    found += [
        causes.required(f"spec.names.{field}")
        for field in ("plural", "singular", "kind", "listKind")
        if not wanted.get(field)
    ]
    found += _names(wanted, "spec.names")
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        found.append(causes.invalid("spec.preserveUnknownFields", True, text))
    return found + _conversion(spec.get("conversion") or {})


def _group(group: str) -> list[Cause]:
    if not group:
        return [causes.required("spec.group")]
    faults = names.dns_subdomain(group)
    if faults:
        return [causes.invalid("spec.group", group, ",".join(faults))]
    if "." not in group:
        return [causes.invalid("spec.group", group, "should be a domain with at least one dot")]
    return []


def _versions(spec: Object, rules_before: frozenset[str]) -> list[Cause]:
    found: list[Cause] = []
    versions = spec.get("versions") or []
    for index, version in enumerate(versions):
        here, name = f"spec.versions[{index}]", version.get("name") or ""
        faults = names.dns_1035_label(name)
        if faults:
            found.append(causes.invalid(f"{here}.name", name, ",".join(faults)))
        found += _version(version, here, rules_before)
    listed = [version.get("name") for version in versions]
    if len(set(listed)) != len(listed):
        found.append(causes.invalid("spec.versions", versions, "must contain unique version names"))
    if sum(1 for version in versions if version.get("storage")) != 1:
        text = "must have exactly one version marked as storage version"
        found.append(causes.invalid("spec.versions", versions, text))
    return found


def _version(version: Object, here: str, rules_before: frozenset[str]) -> list[Cause]:
    found: list[Cause] = []
    warning = version.get("deprecationWarning")
    if warning is not None and not version.get("deprecated"):
        found.append(causes.invalid(f"{here}.deprecationWarning", warning, "can only be set for deprecated versions"))
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        found.append(causes.required(f"{here}.schema.openAPIV3Schema", "schemas are required"))
    else:
        where = f"{here}.schema.openAPIV3Schema"
        faults = schemas.problems(schema, where)
        found += faults or rules.problems(schema, where, rules_before)
    found += printing.scale_problems(version, f"{here}.subresources.scale")
    found += printing.column_problems(version, f"{here}.additionalPrinterColumns")
    return found + printing.selectable_problems(version, f"{here}.selectableFields")


def _names(wanted: Object, here: str) -> list[Cause]:
    found: list[Cause] = []
    for field in ("plural", "singular"):
        faults = names.dns_1035_label(wanted[field]) if wanted.get(field) else []
        if faults:
            found.append(causes.invalid(f"{here}.{field}", wanted[field], ",".join(faults)))
    for field in ("kind", "listKind"):
        faults = names.dns_1035_label(wanted[field].lower()) if wanted.get(field) else []
        if faults:
            text = f"may have mixed case, but should otherwise match: {','.join(faults)}"
            found.append(causes.invalid(f"{here}.{field}", wanted[field], text))
    for field in ("shortNames", "categories"):
        for index, name in enumerate(wanted.get(field) or ()):
            faults = names.dns_1035_label(name)
            if faults:
                found.append(causes.invalid(f"{here}.{field}[{index}]", name, ",".join(faults)))
    if wanted.get("kind") and wanted["kind"] == wanted.get("listKind"):
        text = "kind and listKind may not be the same"
        found.append(causes.invalid(f"{here}.listKind", wanted["listKind"], text))
    return found


def _conversion(conversion: Object) -> list[Cause]:
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook")
    if not strategy:
        return [causes.required("spec.conversion.strategy")]
    if strategy not in _STRATEGIES:
        return [causes.unsupported("spec.conversion.strategy", strategy, _STRATEGIES)]
    if strategy == "None":
        text = "should not be set when strategy is not set to Webhook"
        return [causes.forbidden("spec.conversion.webhook", text)] if webhook else []
    return clientconfigs.problems(webhook, "spec.conversion.webhook")


def _immutable(spec: Object, before: Object, field: str, prefix: str = "") -> list[Cause]:
    if spec.get(field) == before.get(field):
        return []
    return [causes.immutable(f"spec.{prefix}{field}", spec.get(field))]


def _rule_texts(schema: Any) -> Iterator[str]:
    """The rules anywhere in a schema: what they cost is not held against a definition that has them already."""
    if isinstance(schema, dict):
        for rule in schema.get(VALIDATIONS) or ():
            yield rule.get("rule") or ""
        for below in schema.values():
            yield from _rule_texts(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from _rule_texts(below)
