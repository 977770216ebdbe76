"""Server-side apply: merging, owning, giving up, and conflicts."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery import errors, fieldset, schemas
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.registry import applying
from apiserver.registry.applying import Manager

NODE = schemas.Schemas.load().of(GVK("apps", "v1", "Deployment"))
assert NODE is not None
T0, T1 = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
CI, OPS, EDIT = Manager("ci", "Apply"), Manager("ops", "Apply"), Manager("edit", "Update")


def deployment(*containers: Object, labels: Object | None = None, **spec: Any) -> Object:
    full = spec | ({"template": {"spec": {"containers": list(containers)}}} if containers else {})
    metadata: Object = {"name": "d"} | ({"labels": labels} if labels is not None else {})
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    return head | ({"spec": full} if full else {})


def applied(live: Object, config: Object, manager: Manager = CI, *, force: bool = False, now: str = T1) -> Object:
    return applying.applied(live, config, NODE, manager, force=force, now=now)


def created(config: Object, manager: Manager = CI) -> Object:
    return applying.created(config, NODE, manager, T0)


def edited(live: Object, new: Object) -> Object:
    carried = new | {"metadata": new["metadata"] | {"managedFields": live["metadata"].get("managedFields")}}
    return applying.updated(live, carried, NODE, EDIT, T1)


def owned(obj: Object, manager: Manager) -> set[str]:
    entry = applying.read(obj["metadata"].get("managedFields")).get(manager)
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


def test_what_another_manager_says_too_stays() -> None:
    made = created(deployment({"name": "a", "image": "1", "tty": True}, replicas=2))
    shared = applied(made, deployment({"name": "a", "image": "1"}, replicas=2), OPS)
    after = applied(shared, deployment())
    assert after["spec"]["replicas"] == 2
    assert containers_of(after) == [{"name": "a", "image": "1"}], "tty was the first one's alone"
    assert owned(after, CI) == set()
    assert ".spec.replicas" in owned(after, OPS)


def test_an_item_keeps_what_tells_it_apart() -> None:
    made = created(deployment({"name": "a", "image": "1"}))
    edit = deployment({"name": "a", "image": "1", "tty": True})
    after = applied(edited(made, edit), deployment())
    assert containers_of(after) == [{"name": "a", "tty": True}]


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
        f'conflicts with "edit" using apps/v1 at {T1}:\n- .spec.paused'
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
    assert owned(after, Manager("before-first-apply", "Update")) == {".spec.replicas", ".spec.paused"}


def test_kubectl_may_go_on_with_what_it_applied_from_its_own_side() -> None:
    live = deployment(replicas=2)
    last = '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":2}}'
    live["metadata"]["annotations"] = {applying.LAST_APPLIED: last}
    after = applied(live, deployment(replicas=3), Manager("kubectl", "Apply"))
    assert after["spec"]["replicas"] == 3
    with pytest.raises(errors.Conflict):
        applied(live, deployment(replicas=3), OPS)


def test_clients_can_drop_all_ownership() -> None:
    made = created(deployment(replicas=2))
    new = made | {"metadata": made["metadata"] | {"managedFields": [{}]}}
    assert "managedFields" not in applying.updated(made, new, NODE, EDIT, T1)["metadata"]


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
        {},
        {"fieldsType": "Other", "fieldsV1": {}},
        {"fieldsType": "FieldsV1", "fieldsV1": {"f:data": 5}},
        {"fieldsType": "FieldsV1", "fieldsV1": {"odd": {}}},
        {"fieldsType": "FieldsV1", "fieldsV1": {"f:a": {"k:[1]": {}}}},
        {"fieldsType": "FieldsV1", "fieldsV1": {"f:a": {"v:{": {}}}},
    ],
)
def test_owners_that_cannot_be_read_are_none_and_stop_no_write(entry: Object) -> None:
    live = deployment(replicas=1)
    live["metadata"]["managedFields"] = [entry]
    assert applying.read([entry]) == {}
    changed = applying.updated(live, deployment(replicas=2), NODE, EDIT, T1)
    assert [item["manager"] for item in changed["metadata"]["managedFields"]] == ["edit"]
    assert applied(changed, deployment(replicas=2), OPS)["spec"] == {"replicas": 2}
