"""Bytes to objects and back: JSON and YAML, as the API and its command line read them.

Guarantees: what comes out of either form is plain JSON data (string keys, no dates, no shared parts), so it may be
changed in place. Duplicate keys are looked for only when asked, because both fast parsers keep the last one silently.
Refused: bodies nested too deeply, and YAML whose aliases would expand without measure.
Does not check types or fields: that is `schema`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import orjson
import yaml

# Far deeper than any schema of the API; bounds the recursion of everything that walks an object.
MAX_DEPTH = 200
# Values in one YAML document after its aliases are expanded; the largest legal request has fewer.
MAX_YAML_VALUES = 1_000_000


class CodecError(ValueError):
    """The bytes are not JSON or YAML; the message says where."""


def decode_json(data: bytes, duplicates: list[str] | None = None) -> Any:
    """The value of a JSON text. With `duplicates`, the dotted paths of keys given twice are appended to it."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise CodecError(str(error)) from error
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH and _depth_exceeds(value, MAX_DEPTH):
        raise CodecError(f"exceeded max depth {MAX_DEPTH}")
    # A dropped duplicate makes the re-encoded text shorter, so equal lengths spare the slow search.
    if duplicates is not None and len(orjson.dumps(value)) != len(data):
        duplicates += _duplicate_keys(data)
    return value


def encode(value: Any) -> bytes:
    """Compact JSON."""
    return orjson.dumps(value)


def decode_yaml(data: bytes | str, duplicates: list[str] | None = None) -> Any:
    """The value of a YAML text of one document. `duplicates` says afterwards where keys were given twice."""
    documents = list(decode_yaml_documents(data, duplicates))
    if len(documents) > 1:
        raise CodecError("expected one YAML document, found several")
    return documents[0] if documents else None


def decode_yaml_documents(data: bytes | str, duplicates: list[str] | None = None) -> Iterator[Any]:
    """The value of each document of a YAML stream; empty documents are left out. JSON texts are YAML too."""
    loader = _Loader(data)
    found = duplicates if duplicates is not None else []
    try:
        while loader.check_data():  # type: ignore[no-untyped-call]  # its stub has no annotations
            value = loader.get_data()
            found += loader.duplicates
            loader.duplicates = []
            if value is not None:
                yield _unshared(value)
    except yaml.YAMLError as error:
        raise CodecError(_yaml_message(error)) from error
    except RecursionError as error:
        raise CodecError(f"exceeded max depth {MAX_DEPTH}") from error
    finally:
        loader.dispose()


def _duplicate_keys(data: bytes) -> list[str]:
    """Paths of duplicates. Objects become pair lists first, because a dict has already forgotten them."""
    found: list[str] = []

    def search(value: Any, path: str) -> None:
        if isinstance(value, _Pairs):
            seen: set[str] = set()
            for key, item in value:
                here = f"{path}.{key}" if path else key
                if key in seen and here not in found:
                    found.append(here)
                seen.add(key)
                search(item, here)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                search(item, f"{path}[{index}]")

    if _has_duplicates(data):
        try:
            search(json.loads(data, object_pairs_hook=_Pairs), "")
        except RecursionError as error:
            raise CodecError(f"exceeded max depth {MAX_DEPTH}") from error
    return found


class _Pairs(list[tuple[str, Any]]):
    """The members of one JSON object in order."""


def _has_duplicates(data: bytes) -> bool:
    some = False

    def build(pairs: list[tuple[str, Any]]) -> None:
        nonlocal some
        some = some or (len(pairs) > 1 and len({key for key, _ in pairs}) != len(pairs))

    try:
        json.loads(data, object_pairs_hook=build)
    except RecursionError as error:
        raise CodecError(f"exceeded max depth {MAX_DEPTH}") from error
    return some


def _depth_exceeds(value: Any, limit: int) -> bool:
    """Level by level, so that the check itself does not recurse."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            item
            for parent in level
            for item in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True


class _Loader(yaml.CSafeLoader):
    """YAML 1.1 as Kubernetes reads it: no dates, no base-60 numbers, keys as strings, duplicate keys noted.

    What looks like a number but is none that can be held (`0x_`, `1e999`) is text, as Go's parser has it.
    """

    def __init__(self, data: bytes | str) -> None:
        super().__init__(data)
        self.duplicates: list[str] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(None, None, "expected a mapping node", node.start_mark)
        explicit: set[str] = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode):
                if key_node.value in explicit and key_node.value != "<<":
                    self.duplicates.append(
                        f'line {key_node.start_mark.line + 1}: key "{key_node.value}" already set in map'
                    )
                explicit.add(key_node.value)
        self.flatten_mapping(node)
        return {self._key(key): self.construct_object(value, deep=True) for key, value in node.value}

    def _key(self, node: yaml.Node) -> str:
        key = self.construct_object(node, deep=True)
        if isinstance(key, bool):
            return "true" if key else "false"
        if isinstance(key, str | int | float):
            return str(key)
        raise yaml.constructor.ConstructorError(None, None, "found a key that is no scalar", node.start_mark)


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    return loader.construct_mapping(node)


def _construct_bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    value = _BOOLEANS.get(str(loader.construct_scalar(node)).lower())
    if value is None:
        raise _unfit(node, "bool")
    return value


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int | float | str:
    written = str(loader.construct_scalar(node))
    if not _INT.fullmatch(written):  # tagged by hand
        raise _unfit(node, "int")
    text = written.replace("_", "")
    digits = text.lstrip("+-")
    octal = digits.startswith("0") and digits[1:].isdigit()
    try:
        value = int(digits, 8 if octal else 0) * (-1 if text.startswith("-") else 1)
        return value if -(2**63) <= value < 2**64 else float(value)
    except (ValueError, OverflowError):
        return written


def _construct_float(loader: _Loader, node: yaml.ScalarNode) -> float | int | str:
    written = str(loader.construct_scalar(node))
    text = written.replace("_", "").lower()
    if text.lstrip("+-") in (".inf", ".nan"):
        raise yaml.constructor.ConstructorError(None, None, f"{text} is no JSON number", node.start_mark)
    try:
        value = float(text)
    except ValueError:
        raise _unfit(node, "float") from None
    if not math.isfinite(value):
        return written
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _unfit(node: yaml.ScalarNode, kind: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(
        None, None, f"cannot decode !!str `{node.value}` as a !!{kind}", node.start_mark
    )


_BOOLEANS = {"y": True, "yes": True, "on": True, "true": True, "n": False, "no": False, "off": False, "false": False}


_INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|(?:0|[1-9][0-9_]*))")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN)"
)


def _own_resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """PyYAML's implicit types without dates and base-60 numbers, and with the numbers that Go's parser knows."""
    dropped = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}
    inherited = yaml.CSafeLoader.yaml_implicit_resolvers
    resolvers = {char: [pair for pair in pairs if pair[0] not in dropped] for char, pairs in inherited.items()}
    for char in "-+.0123456789":
        pairs = resolvers.setdefault(char, [])
        pairs.append(("tag:yaml.org,2002:int", re.compile(f"(?:{_INT.pattern})$")))
        pairs.append(("tag:yaml.org,2002:float", re.compile(f"(?:{_FLOAT.pattern})$")))
    return resolvers


_Loader.yaml_implicit_resolvers = _own_resolvers()
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
_Loader.add_constructor("tag:yaml.org,2002:bool", _construct_bool)
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)
for _tag in ("binary", "omap", "pairs", "set", "timestamp"):  # types that JSON has not
    del _Loader.yaml_constructors[f"tag:yaml.org,2002:{_tag}"]


def _unshared(value: Any) -> Any:
    """`value` with nothing shared between its parts, after its expanded size and depth were found in bounds."""
    if _expanded_size(value, {}, 0) > MAX_YAML_VALUES:
        raise CodecError("document contains excessive aliasing")
    try:
        return orjson.loads(orjson.dumps(value))
    except (TypeError, orjson.JSONEncodeError) as error:
        raise CodecError(f"the document has no JSON form: {error}") from error


def _expanded_size(value: Any, known: dict[int, int], depth: int) -> int:
    """How many values `value` has when every alias is written out; a part seen before is not walked again."""
    if not isinstance(value, dict | list):
        return 1
    if depth > MAX_DEPTH:  # also where an alias holds itself
        raise CodecError(f"exceeded max depth {MAX_DEPTH}")
    size = known.get(id(value))
    if size is None:
        items = value.values() if isinstance(value, dict) else value
        size = 1 + sum(_expanded_size(item, known, depth + 1) for item in items)
        known[id(value)] = size
    return size


def _yaml_message(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"error converting YAML to JSON: yaml: line {error.problem_mark.line + 1}: {error.problem}"
    return f"error converting YAML to JSON: yaml: {error}"
