"""What would always fail is refused before any request (step K1). Every refusal is one line that names the flag.

Only rules that no server could relax: the grammar of names, images, quantities, ports, labels, environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apimachinery import names, quantity, selectors
from apimachinery.gvr import GVK
from minictl.failures import Refused

PORT_MAX = 65535


def run_name(name: str) -> str:
    """The name of what `run` makes: it is the container's name and a label's value too."""
    return _clean(names.dns_label(name), f'invalid name "{name}"', name)


def image(reference: str) -> str:
    return _clean(names.image_reference(reference), f'Invalid image name "{reference}"', reference)


def port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= PORT_MAX:
        raise Refused(f'invalid port "{text}": must be between 1 and {PORT_MAX}, inclusive')
    return int(text)


def replicas(count: int, flag: str = "--replicas") -> int:
    if count < 0:
        raise Refused(f"The {flag} must be greater than or equal to 0, not {count}")
    return count


def environment(pairs: Iterable[str]) -> list[dict[str, str]]:
    """`NAME=value` pairs as a container's `env`."""
    found = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise Refused(f"invalid env: {pair} (expected NAME=value)")
        _clean(names.env_name(name), f"invalid env: {pair}", name)
        found.append({"name": name, "value": value})
    return found


def labels(text: str) -> dict[str, str]:
    """`a=b,c=d` as labels."""
    found: dict[str, str] = {}
    for pair in text.split(",") if text else ():
        key, equals, value = pair.partition("=")
        if not equals:
            raise Refused(f"unexpected label spec: {pair} (expected KEY=value)")
        _clean(names.qualified_name(key), f'invalid label key "{key}"', key)
        _clean(names.label_value(value), f'invalid label value "{value}"', value)
        found[key] = value
    return found


def annotation_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """`KEY=value` pairs; values are free text."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise Refused(f"unexpected annotation spec: {pair} (expected KEY=value)")
        found[_clean(names.qualified_name(key.lower()), f'invalid annotation key "{key}"', key)] = value
    return found


def quantities(text: str, flag: str) -> dict[str, str]:
    """`cpu=100m,memory=64Mi` as a resource list."""
    found: dict[str, str] = {}
    for pair in text.split(",") if text else ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise Refused(f"Invalid argument syntax {pair}, expected {flag} <resource>=<value>")
        try:
            quantity.parse(value)
        except quantity.QuantityError as error:
            raise Refused(f"{flag} {pair}: {error}") from error
        found[name] = value
    return found


def label_selector(text: str | None) -> str | None:
    """A selector that can be parsed, as it was given."""
    try:
        selectors.parse_labels(text)
    except selectors.SelectorError as error:
        raise Refused(str(error)) from error
    return text


def field_selector(text: str | None) -> str | None:
    try:
        selectors.parse_fields(text)
    except selectors.SelectorError as error:
        raise Refused(str(error)) from error
    return text


def kind_of(obj: object, source: str) -> GVK:
    """The kind that a manifest names. Raises Refused for what is no object."""
    if not isinstance(obj, dict):
        raise Refused(f"error parsing {source}: an object is expected, not {type(obj).__name__}")
    for field in ("apiVersion", "kind"):
        if not isinstance(obj.get(field), str) or not obj[field]:
            raise Refused(f"error validating {source}: error validating data: {field} not set")
    if not isinstance(obj.get("metadata", {}), dict):
        raise Refused(f"error validating {source}: error validating data: metadata must be an object")
    return GVK.of(obj["apiVersion"], obj["kind"])


def _clean(problems: Sequence[str], what: str, value: str) -> str:
    if problems:
        raise Refused(f"{what}: {problems[0]}")
    return value
