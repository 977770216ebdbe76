"""Patches against models: merge patches on the live server, JSON and strategic merge patches where they are made."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import patch, schemas, strategic
from apimachinery.gvr import GVK
from apimachinery.schema import Node
from tests.fuzz.budget import examples
from tests.fuzz.target import Target

PLACE = "/api/v1/namespaces/fuzz/configmaps"
_keys = st.sampled_from(("a", "b", "c", "d"))
_texts = st.sampled_from(("", "1", "2", "é", "a/b~c"))
_maps = st.dictionaries(_keys, _texts, max_size=4)
_changes = st.one_of(st.none(), st.dictionaries(_keys, st.one_of(st.none(), _texts), max_size=4))
_merges = st.fixed_dictionaries({}, optional={"data": _changes, "labels": _changes, "annotations": _changes})

Maps = dict[str, dict[str, str]]


class Model:
    """A config map, as far as merge patches go: three maps."""

    def __init__(self, maps: Maps) -> None:
        self.maps = maps

    def merge(self, change: dict[str, dict[str, str | None] | None]) -> None:
        for field, values in change.items():
            if values is None:
                self.maps[field] = {}
                continue
            for key, value in values.items():
                if value is None:
                    self.maps[field].pop(key, None)
                else:
                    self.maps[field][key] = value


@given(st.fixed_dictionaries({"data": _maps, "labels": _maps, "annotations": _maps}), st.lists(_merges, max_size=4))
@examples(100)
def test_merge_patches_do_to_an_object_what_they_do_to_the_model(
    target: Target, maps: Maps, changes: list[Any]
) -> None:
    maps["labels"] = {key: value for key, value in maps["labels"].items() if value.isdigit()}
    model = Model(copy.deepcopy(maps))
    target.ask("DELETE", f"{PLACE}/merged")
    assert target.ask("POST", PLACE, _body({"name": "merged"}, maps)).code == 201
    for number, change in enumerate(changes):
        labels = change.get("labels")
        if labels is not None:
            change["labels"] = {key: value for key, value in labels.items() if value is None or value.isdigit()}
        model.merge(change)
        kind = ("merge", "strategic-merge")[number % 2]
        answer = target.ask("PATCH", f"{PLACE}/merged", _body({}, change), f"application/{kind}-patch+json")
        assert answer.code == 200, answer
    found = orjson.loads(target.ask("GET", f"{PLACE}/merged").body)
    seen = {
        "data": found.get("data", {}),
        **{field: found["metadata"].get(field, {}) for field in ("labels", "annotations")},
    }
    assert seen == model.maps


def _body(metadata: dict[str, str], maps: dict[str, Any]) -> bytes:
    inner = {field: maps[field] for field in ("labels", "annotations") if field in maps}
    return orjson.dumps({"metadata": {**metadata, **inner}, **({"data": maps["data"]} if "data" in maps else {})})


# --- JSON patch

_documents = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 3), _texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(("a", "b", "~", "/", "0", "")), inner, max_size=3)
    ),
    max_leaves=8,
)


class Refused(Exception):
    """The model's: nothing of the patch is done."""


@st.composite
def patches(draw: st.DrawFn) -> tuple[Any, list[dict[str, Any]]]:
    """A document and operations on places that it has, or nearly."""
    document = draw(st.dictionaries(st.sampled_from(("a", "b", "c")), _documents, min_size=1, max_size=3))
    places = _places(document, "")
    operations = []
    for _ in range(draw(st.integers(1, 4))):
        base = draw(st.sampled_from(places))
        path = draw(st.sampled_from((base, base, f"{base}/a", f"{base}/0", f"{base}/-", f"{base}/9")))
        operation: dict[str, Any] = {"op": draw(st.sampled_from(("add", "remove", "replace", "move", "copy", "test")))}
        operation["path"] = path
        if operation["op"] in ("move", "copy"):
            operation["from"] = draw(st.sampled_from(places))
        if operation["op"] in ("add", "replace", "test"):
            operation["value"] = draw(_documents)
        operations.append(operation)
    return document, operations


def _places(document: Any, path: str) -> list[str]:
    found = [path] if path else []
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in items:
        found += _places(value, f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}")
    return found


def apply(document: Any, operations: list[dict[str, Any]]) -> Any:
    """RFC 6902, word for word."""
    root = {"": copy.deepcopy(document)}
    for operation in operations:
        path = operation["path"]
        match operation["op"]:
            case "add":
                _add(root, path, copy.deepcopy(operation["value"]))
            case "remove":
                _remove(root, path)
            case "replace":
                _remove(root, path)
                _add(root, path, copy.deepcopy(operation["value"]))
            case "move":
                if path.startswith(operation["from"] + "/"):
                    raise Refused
                _add(root, path, _remove(root, operation["from"]))
            case "copy":
                _add(root, path, copy.deepcopy(_at(root, operation["from"])))
            case "test":
                if not _same(_at(root, path), operation["value"]):
                    raise Refused
    return root[""]


def _parts(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]


def _at(root: Any, path: str) -> Any:
    value = root
    for part in _parts(path):
        value = value[_key(value, part)]
    return value


def _key(container: Any, part: str) -> Any:
    """The key or index of something that is there."""
    if isinstance(container, dict) and part in container:
        return part
    if isinstance(container, list) and part.isdigit() and str(int(part)) == part and int(part) < len(container):
        return int(part)
    raise Refused


def _remove(root: Any, path: str) -> Any:
    parent, _, _ = path.rpartition("/")
    container = _at(root, parent) if path else root
    key = _key(container, _parts(path)[-1])
    return container.pop(key)


def _add(root: Any, path: str, value: Any) -> None:
    parent, _, _ = path.rpartition("/")
    container, last = _at(root, parent) if path else root, _parts(path)[-1]
    if isinstance(container, dict):
        container[last] = value
    elif isinstance(container, list) and (last == "-" or (last.isdigit() and int(last) <= len(container))):
        container.insert(len(container) if last == "-" else int(last), value)
    else:
        raise Refused


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1."""
    return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)


@given(patches())
@examples(200)
def test_a_json_patch_does_what_the_standard_says(made: tuple[Any, list[dict[str, Any]]]) -> None:
    document, operations = made
    before = copy.deepcopy(document)
    try:
        expected = apply(document, operations)
    except Refused:
        with pytest.raises(patch.PatchRefused):
            patch.json_patch(document, operations)
    else:
        assert _same(patch.json_patch(document, operations), expected)
    assert document == before, "the argument stays as it was"


# --- strategic merge patch: a pod's containers, each with its environment, both lists with keys

Fields = dict[str, str | None]
Containers = dict[str, tuple[Fields, dict[str, str]]]
_names = st.sampled_from(("a", "b", "c"))
_container = st.tuples(
    st.fixed_dictionaries({}, optional={"image": _texts, "workingDir": _texts}),
    st.dictionaries(_names, _texts, max_size=3),
)
_containers = st.dictionaries(_names, _container, max_size=3)
_env_change = st.dictionaries(_names, st.one_of(st.none(), _texts), max_size=3)
_change = st.one_of(
    st.none(),
    st.tuples(
        st.fixed_dictionaries({}, optional={"image": st.one_of(st.none(), _texts), "workingDir": _texts}), _env_change
    ),
)
_strategic = st.dictionaries(_names, _change, max_size=3)


@pytest.fixture(scope="module")
def pod() -> Node:
    node = schemas.Schemas.load().of(GVK("", "v1", "Pod"))
    assert node is not None
    return node


@given(_containers, _strategic)
@examples(150)
def test_a_strategic_merge_patch_does_to_keyed_lists_what_it_does_to_maps(
    pod: Node, containers: Containers, change: dict[str, Any]
) -> None:
    expected = copy.deepcopy(containers)
    for name, wanted in change.items():
        if wanted is None:
            expected.pop(name, None)
            continue
        fields, env = expected.setdefault(name, ({}, {}))
        _merge(fields, wanted[0])
        _merge(env, wanted[1])
    document = {"spec": {"containers": [_written(name, *made) for name, made in containers.items()]}}
    items = [
        {"name": name, "$patch": "delete"} if wanted is None else _written(name, *wanted)
        for name, wanted in change.items()
    ]
    after = strategic.merge(document, {"spec": {"containers": items}}, pod)
    assert {item["name"]: _taken_apart(item) for item in after["spec"]["containers"]} == expected


def _merge(values: dict[str, Any], change: dict[str, Any]) -> None:
    for key, value in change.items():
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value


def _written(name: str, fields: dict[str, Any], env: dict[str, Any]) -> dict[str, Any]:
    listed = [
        {"name": key, "$patch": "delete"} if value is None else {"name": key, "value": value}
        for key, value in env.items()
    ]
    return {"name": name, **fields, **({"env": listed} if listed else {})}


def _taken_apart(item: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    fields = {key: value for key, value in item.items() if key not in ("name", "env")}
    return fields, {entry["name"]: entry["value"] for entry in item.get("env", [])}
