"""Server-side apply: merging, owning, giving up, and conflicts."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery import errors, fieldset, schemas
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.registry import applying, managedfields
from apiserver.registry.applying import Application
from apiserver.registry.managedfields import Manager, Scope

NODE = schemas.Schemas.load().of(GVK("apps", "v1", "Deployment"))
assert NODE is not None
T0, T1 = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
CI, OPS = Manager("ci", "Apply"), Manager("ops", "Apply")
EDIT = Manager("edit", "Update", api_version="apps/v1")


def deployment(*containers: Object, labels: Object | None = None, **spec: Any) -> Object:
    full = spec | ({"template": {"spec": {"containers": list(containers)}}} if containers else {})
    metadata: Object = {"name": "d"} | ({"labels": labels} if labels is not None else {})
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    return head | ({"spec": full} if full else {})


def scope(manager: Manager, now: str) -> Scope:
    assert NODE is not None
    return Scope(NODE, manager, now, has_status=True)


def applied(live: Object, config: Object, manager: Manager = CI, *, force: bool = False, now: str = T1) -> Object:
    return applying.applied(live, Application(config, scope(manager, now), force))


def created(config: Object, manager: Manager = CI) -> Object:
    return applying.created(Application(config, scope(manager, T0)))


def edited(live: Object, new: Object, manager: Manager = EDIT, now: str = T1) -> Object:
    return managedfields.updated(live, new, scope(manager, now))


def owned(obj: Object, manager: Manager) -> set[str]:
    entry = (managedfields.read(obj["metadata"].get("managedFields")) or {}).get(manager)
    return set(fieldset.paths(entry.fields)) if entry else set()


def containers_of(obj: Object) -> list[Object]:
    return list(obj["spec"]["template"]["spec"]["containers"])


def test_who_creates_owns_what_it_says_and_nothing_of_the_servers() -> None:
    made = created(deployment(replicas=2, labels={"a": "b"}))
    assert owned(made, CI) == {".metadata.labels.a", ".spec.replicas"}
    [entry] = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"], entry["apiVersion"], entry["time"]) == ("ci", "Apply", "apps/v1", T0)
    assert entry["fieldsV1"] == {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:replicas": {}}}


def test_applying_the_same_again_changes_nothing_at_all() -> None:
    made = created(deployment({"name": "a", "image": "1"}, replicas=2))
    assert applied(made, deployment({"name": "a", "image": "1"}, replicas=2)) == made


def test_what_a_manager_no_longer_says_goes() -> None:
    made = created(deployment({"name": "a", "image": "1"}, {"name": "b", "image": "1"}, replicas=2, labels={"x": "y"}))
    after = applied(made, deployment({"name": "a", "image": "1"}))
    assert "replicas" not in after["spec"]
    assert "labels" not in after["metadata"]
    assert containers_of(after) == [{"name": "a", "image": "1"}]
    assert ".spec.replicas" not in owned(after, CI)


def test_who_gives_up_its_last_metadata_keeps_the_objects_identity() -> None:
    made = created(deployment(replicas=2, labels={"x": "y"}))
    made["metadata"] |= {"uid": "u1", "namespace": "ns"}
    left = applied(made, deployment(replicas=2))["metadata"]
    assert {key: value for key, value in left.items() if key != "managedFields"} == {
        "name": "d",
        "uid": "u1",
        "namespace": "ns",
    }


def test_what_another_manager_says_too_stays() -> None:
    made = created(deployment({"name": "a", "image": "1", "tty": True}, replicas=2))
    shared = applied(made, deployment({"name": "a", "image": "1"}, replicas=2), OPS)
    after = applied(shared, deployment())
    assert after["spec"]["replicas"] == 2
    assert containers_of(after) == [{"name": "a", "image": "1"}], "tty was the first one's alone"
    assert owned(after, CI) == set()
    assert ".spec.replicas" in owned(after, OPS)


def test_an_item_goes_with_all_that_is_in_it_when_nobody_else_says_it() -> None:
    made = created(deployment({"name": "a", "image": "1"}, {"name": "b"}))
    edit = deployment({"name": "a", "image": "1", "tty": True}, {"name": "b"})
    after = applied(edited(made, edit), deployment({"name": "b"}))
    assert containers_of(after) == [{"name": "b"}], "who changed a field of it has not said that it is there"


def test_an_item_stays_as_far_as_another_says_it() -> None:
    made = created(deployment({"name": "a", "image": "1", "tty": True}))
    shared = applied(made, deployment({"name": "a", "tty": True}), OPS)
    assert containers_of(applied(shared, deployment())) == [{"name": "a", "tty": True}]


def test_items_merge_by_their_keys_with_their_defaults() -> None:
    port = {"containerPort": 80, "name": "http"}
    made = created(deployment({"name": "a", "ports": [port | {"protocol": "TCP"}]}))
    after = applied(made, deployment({"name": "a", "ports": [port | {"name": "web"}]}))
    assert containers_of(after)[0]["ports"] == [{"containerPort": 80, "name": "web", "protocol": "TCP"}]


def test_a_value_that_another_owns_is_a_conflict() -> None:
    made = created(deployment(replicas=2))
    with pytest.raises(errors.Conflict) as caught:
        applied(made, deployment(replicas=3), OPS)
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "ci": .spec.replicas'
    assert caught.value.to_status()["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "ci"', "field": ".spec.replicas"}
    ]


def test_conflicts_are_listed_by_manager() -> None:
    made = created(deployment(replicas=2))
    other = edited(made, deployment(replicas=2, paused=True))
    with pytest.raises(errors.Conflict) as caught:
        applied(other, deployment(replicas=3, paused=False), OPS)
    assert caught.value.message == (
        'Apply failed with 2 conflicts: conflicts with "ci":\n- .spec.replicas\n'
        'conflicts with "edit" using apps/v1:\n- .spec.paused'
    )


def test_force_takes_the_field_from_its_owner() -> None:
    after = applied(created(deployment(replicas=2)), deployment(replicas=3), OPS, force=True)
    assert after["spec"]["replicas"] == 3
    assert (owned(after, CI), owned(after, OPS)) == (set(), {".spec.replicas"})


def test_agreeing_is_owning_together() -> None:
    after = applied(created(deployment(replicas=2)), deployment(replicas=2), OPS)
    assert owned(after, CI) == owned(after, OPS) == {".spec.replicas"}


def test_an_update_takes_what_it_changes_and_only_that() -> None:
    made = created(deployment(replicas=2, paused=True))
    after = edited(made, deployment(replicas=5, paused=True))
    assert owned(after, EDIT) == {".spec.replicas"}
    assert owned(after, CI) == {".spec.paused"}


def test_an_update_that_removes_frees() -> None:
    made = created(deployment(replicas=2, paused=True))
    after = edited(made, deployment(paused=True))
    assert owned(after, CI) == {".spec.paused"}
    assert owned(after, EDIT) == set()


def test_an_update_that_changes_nothing_leaves_the_owners_alone() -> None:
    made = created(deployment(replicas=2))
    assert edited(made, deployment(replicas=2)) == made


def test_objects_from_before_are_owned_by_before_first_apply() -> None:
    with pytest.raises(errors.Conflict, match='conflict with "before-first-apply" using apps/v1'):
        applied(deployment(replicas=2), deployment(replicas=3))
    after = applied(deployment(replicas=2, paused=True), deployment(replicas=2))
    assert owned(after, Manager("before-first-apply", "Update", api_version="apps/v1")) == {
        ".spec.replicas",
        ".spec.paused",
    }


def test_kubectl_may_go_on_with_what_it_applied_from_its_own_side() -> None:
    live = deployment(replicas=2)
    last = '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":2}}'
    live["metadata"]["annotations"] = {applying.LAST_APPLIED: last}
    after = applied(live, deployment(replicas=3), Manager("kubectl", "Apply"))
    assert after["spec"]["replicas"] == 3
    with pytest.raises(errors.Conflict):
        applied(live, deployment(replicas=3), OPS)


def with_entries(obj: Object, entries: list[Object]) -> Object:
    return obj | {"metadata": obj["metadata"] | {"managedFields": entries}}


def test_clients_can_drop_all_ownership_but_not_by_an_empty_list() -> None:
    made = created(deployment(replicas=2))
    assert "managedFields" not in edited(made, with_entries(made, [{}]))["metadata"]
    assert edited(made, with_entries(made, [])) == made


def test_an_object_without_owners_gets_none_by_an_update() -> None:
    live = deployment(replicas=2)
    assert edited(live, deployment(replicas=3)) == deployment(replicas=3)


def test_clients_can_write_the_owners_themselves() -> None:
    made = created(deployment(replicas=2, paused=True))
    [entry] = made["metadata"]["managedFields"]
    taken = entry | {"manager": "thief"}
    after = edited(made, with_entries(made, [taken]))
    assert [item["manager"] for item in after["metadata"]["managedFields"]] == ["thief"]
    through_status = edited(made, with_entries(made, [taken]), Manager("edit", "Update", "status", "apps/v1"))
    assert [item["manager"] for item in through_status["metadata"]["managedFields"]] == ["ci"]


def test_atomic_parts_have_one_owner() -> None:
    made = created(deployment(selector={"matchLabels": {"a": "b"}}))
    assert owned(made, CI) == {".spec.selector"}


def test_the_order_is_the_configurations() -> None:
    made = created(deployment({"name": "a"}, {"name": "b"}))
    live = edited(made, deployment({"name": "a"}, {"name": "x"}, {"name": "b"}))
    after = applied(live, deployment({"name": "b"}, {"name": "a"}))
    assert [item["name"] for item in containers_of(after)] == ["x", "b", "a"]


@pytest.mark.parametrize(
    "entry",
    [
        {"manager": "x"},
        {"operation": "Update", "apiVersion": "apps/v1", "fieldsType": "Other", "fieldsV1": {}},
        {"operation": "Guess", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": {}},
        {"operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {}},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": 5}},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"odd": {}}},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {"k:[1]": {}}}},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {"v:{": {}}}},
    ],
)
def test_owners_that_cannot_be_read_are_none_and_stop_no_write(entry: Object) -> None:
    made = created(deployment(replicas=1))
    changed = edited(made, with_entries(deployment(replicas=2), [entry]))
    assert managedfields.read([entry]) is None
    assert [item["manager"] for item in changed["metadata"]["managedFields"]] == ["edit"], "what was there counts"
    assert owned(changed, EDIT) == {".spec.replicas"}
