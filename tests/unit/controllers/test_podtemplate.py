from __future__ import annotations

import copy

import pytest

from apimachinery.objects import Object
from controllers import podtemplate
from tests.unit.controllers import builders

TEMPLATE: Object = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx", "resources": {"limits": {"cpu": "500m"}}}], "volumes": []},
}


def changed(path: str, value: object) -> Object:
    result = copy.deepcopy(TEMPLATE)
    at = result
    *parents, last = path.split(".")
    for part in parents:
        at = at[int(part)] if part.isdecimal() else at[part]
    at[last] = value
    return result


@pytest.mark.parametrize(
    ("path", "value", "same"),
    [
        ("metadata.labels", {"app": "web", "pod-template-hash": "abc"}, True),
        ("metadata.annotations", {}, True),
        ("metadata.creationTimestamp", None, True),
        ("spec.volumes", None, True),
        ("spec.containers.0.resources.limits.cpu", "0.5", True),
        ("spec.containers.0.image", "nginx:2", False),
        ("metadata.labels", {"app": "web", "tier": "front"}, False),
        ("metadata.annotations", {"restartedAt": "now"}, False),
        ("spec.volumes", [{"name": "v", "emptyDir": {}}], False),
        ("spec.containers.0.securityContext", {}, False),
    ],
)
def test_templates_are_the_same_when_they_make_the_same_pods(path: str, value: object, same: bool) -> None:
    assert podtemplate.same_template(TEMPLATE, changed(path, value)) is same
    hashes_agree = podtemplate.template_hash(TEMPLATE, None) == podtemplate.template_hash(changed(path, value), None)
    assert hashes_agree is same


def test_a_collision_gives_another_hash() -> None:
    hashes = {podtemplate.template_hash(TEMPLATE, count) for count in (None, 1, 2, 3)}
    assert len(hashes) == 4


def test_a_hash_spells_no_words_and_fits_a_label() -> None:
    digest = podtemplate.template_hash(TEMPLATE, None)
    assert set(digest) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert 1 <= len(digest) <= 10


def test_a_pod_names_its_controller_and_takes_the_templates_metadata() -> None:
    template = {**TEMPLATE, "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["e/f"]}}
    pod = podtemplate.pod_for(builders.replicaset(1), template)
    assert pod["metadata"]["generateName"] == "web-"
    assert pod["metadata"]["labels"] == {"a": "b"}
    assert pod["metadata"]["annotations"] == {"c": "d"}
    assert pod["metadata"]["finalizers"] == ["e/f"]
    assert pod["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "web",
            "uid": "web",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
