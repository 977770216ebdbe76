"""Server-side apply against a model: any sequence of applies and updates of a flat object, and of a keyed list."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apimachinery import errors, fieldset, schemas
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.registry import applying, managedfields
from apiserver.registry.applying import Application
from apiserver.registry.managedfields import Manager, Scope

SCHEMAS = schemas.Schemas.load()
NOW = "2026-01-01T00:00:00Z"
Data = dict[str, str]


class Model:
    """What apply means where every field is one key: values, and for each manager the keys that it owns."""

    def __init__(self, values: Data, owner: Manager) -> None:
        self.values = dict(values)
        self.owners: dict[Manager, set[str]] = {owner: set(values)}

    def apply(self, manager: Manager, config: Data, *, force: bool) -> bool:
        """Whether it went through."""
        changed = {key for key, value in config.items() if self.values.get(key) != value}
        others = {key: keys for key, keys in self.owners.items() if key != manager}
        if not force and any(keys & changed for keys in others.values()):
            return False
        for keys in others.values():
            keys -= changed
        gone = self.owners.get(manager, set()) - set(config) - set().union(*others.values())
        self.values = {key: value for key, value in self.values.items() if key not in gone} | config
        self.owners[manager] = set(config)
        return True

    def update(self, manager: Manager, values: Data) -> None:
        changed = {key for key, value in values.items() if self.values.get(key) != value}
        gone = set(self.values) - set(values)
        for keys in self.owners.values():
            keys -= changed | gone
        if changed:
            self.owners.setdefault(manager, set()).update(changed)
        self.values = dict(values)


_data = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("12"), max_size=4)
_appliers = st.sampled_from([Manager(name, "Apply") for name in ("x", "y", "z")])
_updaters = st.sampled_from([Manager(name, "Update", api_version="v1") for name in ("x", "u")])
_steps = st.lists(
    st.tuples(st.just("apply"), _appliers, _data, st.booleans()) | st.tuples(st.just("update"), _updaters, _data)
)


def config_map(data: Data, entries: Any = None) -> Object:
    metadata: Object = {"name": "m"} | ({"managedFields": entries} if entries else {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata} | ({"data": data} if data else {})


def scope(manager: Manager, kind: str = "ConfigMap") -> Scope:
    node = SCHEMAS.of(GVK("", "v1", kind))
    assert node is not None
    return Scope(node, manager, NOW)


@given(_data, _appliers, _steps)
def test_owners_and_values_are_the_models(first: Data, creator: Manager, steps: list[Any]) -> None:
    model = Model(first, creator)
    live = applying.created(Application(config_map(first), scope(creator)))
    for step in steps:
        entries = live["metadata"].get("managedFields")
        if step[0] == "update":
            if not entries:  # nobody's objects stay nobody's
                return
            live = managedfields.updated(live, config_map(step[2], entries), scope(step[1]))
            model.update(step[1], step[2])
        else:
            if not entries:
                return
            live = _apply(model, live, *step[1:])
        assert live.get("data", {}) == model.values
        assert _owners(live) == {key: keys for key, keys in model.owners.items() if keys}


def _apply(model: Model, live: Object, manager: Manager, config: Data, force: bool) -> Object:
    went_through = model.apply(manager, config, force=force)
    try:
        after = applying.applied(live, Application(config_map(config), scope(manager), force))
    except errors.Conflict:
        assert not went_through
        return live
    assert went_through
    again = applying.applied(after, Application(config_map(config), scope(manager)))
    assert again == after, "applying the same again changes nothing"
    return after


def _owners(live: Object) -> dict[Manager, set[str]]:
    managed = managedfields.read(live["metadata"].get("managedFields")) or {}
    owned = {
        key: {path.removeprefix(".data.") for path in fieldset.paths(entry.fields) if path != ".data"}
        for key, entry in managed.items()
    }
    return {key: keys for key, keys in owned.items() if keys}


_names = st.lists(st.sampled_from("abcdef"), max_size=5, unique=True)


def pod(names: list[str], entries: Any = None) -> Object:
    metadata: Object = {"name": "p"} | ({"managedFields": entries} if entries else {})
    containers = [{"name": name, "image": "i"} for name in names]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


@given(_names, _names, _names)
def test_items_keep_the_order_of_the_configuration(one: list[str], other: list[str], last: list[str]) -> None:
    x, y = Manager("x", "Apply"), Manager("y", "Apply")
    live = applying.created(Application(pod(one), scope(x, "Pod")))
    live = applying.applied(live, Application(pod(other), scope(y, "Pod")))
    assert _in_order(live, other) == other
    assert set(_names_of(live)) == {*one, *other}
    after = applying.applied(live, Application(pod(last), scope(x, "Pod")))
    assert _in_order(after, last) == last
    assert set(_names_of(after)) == {*other, *last}, "what x alone said and says no more is gone"
    rest = [name for name in _names_of(live) if name not in last and name in other]
    assert _in_order(after, rest) == rest, "the others' order is not touched"


def _names_of(live: Object) -> list[str]:
    return [item["name"] for item in (live.get("spec") or {}).get("containers") or ()]


def _in_order(live: Object, names: list[str]) -> list[str]:
    return [name for name in _names_of(live) if name in names]
