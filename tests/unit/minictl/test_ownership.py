"""From applying here to applying on the server: who owns what afterwards."""

from __future__ import annotations

from typing import Any

from apimachinery.objects import Object
from minictl import ownership


def entry(operation: str, fields: Any, manager: str = "minictl", version: str = "v1", **more: str) -> Object:
    return {"manager": manager, "operation": operation, "apiVersion": version, "fieldsV1": fields, **more}


def test_updates_become_part_of_what_was_applied() -> None:
    applied = entry("Apply", {"f:data": {"f:a": {}}}, time="1")
    updated = entry("Update", {"f:data": {"f:b": {}}, "f:metadata": {"f:labels": {".": {}, "f:x": {}}}}, time="2")
    other = entry("Update", {"f:data": {"f:c": {}}}, manager="editor")
    found = ownership.upgraded([applied, other, updated], "minictl", "v1")
    fields = {"f:data": {"f:a": {}, "f:b": {}}, "f:metadata": {"f:labels": {".": {}, "f:x": {}}}}
    assert found == [entry("Apply", fields, time="2"), other]


def test_who_has_only_applied_needs_no_upgrade() -> None:
    assert ownership.upgraded([entry("Apply", {})], "minictl", "v1") is None
    assert ownership.upgraded([entry("Update", {}, manager="editor")], "minictl", "v1") is None


def test_subresources_and_other_versions_are_left_alone() -> None:
    status = entry("Update", {"f:status": {}}, subresource="status")
    old = entry("Update", {"f:spec": {}}, version="v1beta1")
    assert ownership.upgraded([status, old], "minictl", "v1") is None
    found = ownership.upgraded([status, old, entry("Update", {"f:data": {}})], "minictl", "v1")
    assert found == [entry("Apply", {"f:data": {}}), status, old]
