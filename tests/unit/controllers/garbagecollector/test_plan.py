from __future__ import annotations

import pytest

from apimachinery.objects import Object
from controllers.garbagecollector import plan
from controllers.garbagecollector.plan import Action, Delete, Detach, Keep, Owner
from tests.unit.controllers.builders import ago

SOLID, WAITING, GONE = Owner.SOLID, Owner.WAITING, Owner.GONE


def item(*finalizers: str) -> Object:
    return {"metadata": {"name": "x", "uid": "x", "finalizers": list(finalizers)}}


@pytest.mark.parametrize(
    ("owners", "has_dependents", "dependents_wait", "action"),
    [
        ({}, False, False, Keep()),
        ({"a": SOLID}, False, False, Keep()),
        ({"a": SOLID, "b": GONE}, False, False, Detach(frozenset("b"))),
        ({"a": SOLID, "b": GONE, "c": WAITING}, True, False, Detach(frozenset("bc"))),
        ({"a": GONE}, False, False, Delete("Background")),
        ({"a": GONE, "b": GONE}, True, False, Delete("Background")),
        ({"a": WAITING}, False, False, Delete("Background")),
        ({"a": WAITING, "b": GONE}, True, False, Delete("Foreground")),
        ({"a": WAITING}, True, True, Delete("Foreground", unblock=True)),
    ],
)
def test_what_happens_to_an_object_by_how_its_owners_fare(
    owners: dict[str, Owner], has_dependents: bool, dependents_wait: bool, action: Action
) -> None:
    found = plan.plan_item(item(), owners, has_dependents=has_dependents, dependents_wait=dependents_wait)
    assert found == action


@pytest.mark.parametrize(("finalizer", "policy"), [("orphan", "Orphan"), ("foregroundDeletion", "Foreground")])
def test_a_policy_asked_for_already_is_kept(finalizer: str, policy: str) -> None:
    found = plan.plan_item(item(finalizer), {"a": GONE}, has_dependents=False, dependents_wait=False)
    assert found == Delete(policy)


def test_another_object_of_the_owners_name_is_not_the_owner() -> None:
    assert plan.owner_fares({"metadata": {"uid": "new"}}, "old") is GONE
    assert plan.owner_fares(None, "old") is GONE
    assert plan.owner_fares({"metadata": {"uid": "old"}}, "old") is SOLID


def test_an_owner_waits_only_when_deleted_in_the_foreground() -> None:
    metadata = {"uid": "a", "deletionTimestamp": ago(1)}
    assert plan.owner_fares({"metadata": metadata}, "a") is SOLID
    assert plan.owner_fares({"metadata": metadata | {"finalizers": ["foregroundDeletion"]}}, "a") is WAITING
