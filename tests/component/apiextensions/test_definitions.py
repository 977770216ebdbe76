"""CustomResourceDefinitions themselves: what is refused, their conditions, their names, and how they go."""

from __future__ import annotations

import httpx
import pytest

from tests import harness
from tests.component.apiextensions.conftest import DEFINITIONS, Group, condition, spec, until, version


def test_a_definition_is_established_and_served(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", version(), shortNames=["lp"], categories=["all"])
    definition = group.definition("lamps")
    assert [(item["type"], item["status"], item["reason"]) for item in definition["status"]["conditions"]] == [
        ("NamesAccepted", "True", "NoConflicts"),
        ("Established", "True", "InitialNamesAccepted"),
    ]
    assert definition["status"]["acceptedNames"] == {
        "plural": "lamps",
        "singular": "lamp",
        "kind": "Lamp",
        "listKind": "LampList",
        "shortNames": ["lp"],
        "categories": ["all"],
    }
    assert definition["status"]["storedVersions"] == ["v1"]
    listed = admin.get(path).json()
    assert (listed["kind"], listed["apiVersion"], listed["items"]) == ("LampList", f"{group.name}/v1", [])
    entry = admin.get(f"/apis/{group.name}/v1").json()["resources"][0]
    assert (entry["name"], entry["singularName"], entry["shortNames"]) == ("lamps", "lamp", ["lp"])


def test_every_worker_serves_a_definition_as_soon_as_one_says_that_it_is_established() -> None:
    with harness.Server(workers=3) as server, server.admin() as admin:
        group = Group(admin, "quick.example.com", "default")
        for number in range(8):
            plural = f"lamp{'abcdefgh'[number]}s"
            group.post(group.body(plural, version()))
            group.established(plural)
            for _ in range(6):
                with server.admin() as anew:  # another connection, perhaps another worker
                    assert anew.get(group.path(plural)).status_code == 200
        assert admin.delete(f"{DEFINITIONS}/lampas.quick.example.com").status_code == 200
        until(lambda: admin.get(f"{DEFINITIONS}/lampas.quick.example.com").status_code == 404, "the definition is gone")
        for _ in range(6):
            with server.admin() as anew:
                until(lambda anew=anew: anew.get(group.path("lampas")).status_code == 404, "it is served no more")


def test_names_that_another_definition_has_are_not_accepted_until_it_goes(group: Group, admin: httpx.Client) -> None:
    group.define("lamps", version(), shortNames=["lp"])
    group.post(group.body("lights", version(), kind="Lamp", listKind="LightList", shortNames=["lp"]))
    until(lambda: condition(group.definition("lights"), "NamesAccepted"), "the names are judged")
    second = group.definition("lights")
    refused = condition(second, "NamesAccepted")
    assert (refused["status"], refused["reason"], refused["message"]) == (
        "False",
        "ShortNamesConflict",
        '"lp" is already in use',
    )
    assert condition(second, "Established")["reason"] == "NotAccepted"
    assert admin.get(group.path("lights")).status_code == 404
    admin.delete(f"{DEFINITIONS}/lamps.{group.name}")
    group.established("lights")
    assert group.definition("lights")["status"]["acceptedNames"]["shortNames"] == ["lp"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"metadata": {"name": "other.example.com"}},
            'metadata.name: Invalid value: "other.example.com": must be spec.names.plural+"."+spec.group',
        ),
        ({"spec": {"group": "nodot"}}, 'spec.group: Invalid value: "nodot": should be a domain with at least one dot'),
        (
            {"spec": {"scope": "Somewhere"}},
            'spec.scope: Unsupported value: "Somewhere": supported values: "Cluster", "Namespaced"',
        ),
        ({"spec": {"names": {"plural": "", "kind": "Lamp"}}}, "spec.names.plural: Required value"),
        (
            {"spec": {"names": {"plural": "lamps", "kind": "Lamp", "listKind": "Lamp"}}},
            'spec.names.listKind: Invalid value: "Lamp": kind and listKind may not be the same',
        ),
        (
            {"spec": {"preserveUnknownFields": True}},
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
            "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ),
        (
            {"spec": {"versions": [version(storage=False)]}},
            "must have exactly one version marked as storage version",
        ),
        (
            {"spec": {"versions": [version(), version(storage=False)]}},
            "must contain unique version names",
        ),
        (
            {"spec": {"versions": [{"name": "v1", "served": True, "storage": True}]}},
            "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
        ),
        (
            {"spec": {"conversion": {"strategy": "Webhook"}}},
            "spec.conversion.webhook.clientConfig: Required value: required when strategy is set to Webhook",
        ),
    ],
)
def test_what_is_wrong_with_a_definition_is_told_in_upstreams_words(
    group: Group, change: dict[str, dict[str, object]], message: str
) -> None:
    body = group.body("lamps", version())
    for field, changes in change.items():
        body[field] = body[field] | changes
    assert message in group.refused(body)["message"]


def test_a_schema_must_be_structural(group: Group) -> None:
    schema = {"type": "object", "properties": {"size": {"minimum": 1}, "list": {"type": "array"}}}
    schema["anyOf"] = [{"properties": {"other": {"type": "string"}}}]
    told = group.refused(group.body("lamps", version(schema=schema)))
    here = "spec.versions[0].schema.openAPIV3Schema.properties[spec]"
    assert [(cause["field"], cause["message"]) for cause in told["details"]["causes"]] == [
        (
            f"{here}.anyOf[0].properties[other].type",
            "Forbidden: must be empty to be structural",
        ),
        (f"{here}.properties[list].items", "Required value: must be specified"),
        (
            f"{here}.properties[other]",
            f"Required value: because it is defined in {here}.anyOf[0].properties[other]",
        ),
        (f"{here}.properties[size].type", "Required value: must not be empty for specified object fields"),
    ]


def test_what_objects_are_kept_by_cannot_change(group: Group) -> None:
    group.define("lamps", version())
    answer = group.change("lamps", {"spec": {"scope": "Cluster", "names": {"kind": "Lantern"}}})
    assert answer.status_code == 422
    fields = [cause["field"] for cause in answer.json()["details"]["causes"]]
    assert fields == ["spec.scope", "spec.names.kind"]


def test_a_version_that_objects_may_be_kept_in_must_stay(group: Group) -> None:
    group.define("lamps", version("v1alpha1"))
    both = {"spec": {"versions": [version("v1alpha1", storage=False), version("v1")]}}
    assert group.change("lamps", both).status_code == 200
    assert group.definition("lamps")["status"]["storedVersions"] == ["v1alpha1", "v1"]
    answer = group.change("lamps", {"spec": {"versions": [version("v1")]}})
    assert answer.status_code == 422
    assert 'status.storedVersions[0]: Invalid value: "v1alpha1": missing from spec.versions' in answer.json()["message"]


def test_a_definition_goes_with_its_objects(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", version(schema=spec(size={"type": "integer"})))
    for name in ("a", "b"):
        assert admin.post(path, json=group.object("lamps", name)).status_code == 201
    merge = {"content-type": "application/merge-patch+json"}
    held = {"metadata": {"finalizers": ["example.com/wait"]}}
    assert admin.patch(f"{path}/b", json=held, headers=merge).status_code == 200
    admin.delete(f"{DEFINITIONS}/lamps.{group.name}")
    until(lambda: admin.get(f"{path}/a").status_code == 404, "what nothing holds is gone")
    definition = group.definition("lamps")
    assert definition["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert condition(definition, "Terminating")["status"] == "True"
    answer = admin.post(path, json=group.object("lamps", "c"))
    assert answer.status_code == 405
    assert answer.json()["message"] == "create not allowed while custom resource definition is terminating"
    admin.patch(f"{path}/b", json={"metadata": {"finalizers": None}}, headers=merge)
    until(lambda: admin.get(f"{DEFINITIONS}/lamps.{group.name}").status_code == 404, "the definition is gone")
    assert admin.get(path).status_code == 404


def test_a_protected_group_needs_an_approval(group: Group) -> None:
    group.name = f"{group.name.split('.')[0]}.k8s.io"
    body = group.body("lamps", version())
    told = group.refused(body)["details"]["causes"][0]
    assert told["field"] == "metadata.annotations[api-approved.kubernetes.io]"
    body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    group.post(body)
    group.established("lamps")
    verdict = condition(group.definition("lamps"), "KubernetesAPIApproved")
    assert (verdict["status"], verdict["reason"]) == ("False", "UnapprovedAnnotation")


def test_a_definition_with_a_built_in_kinds_place_takes_nothing_of_it_along(group: Group, admin: httpx.Client) -> None:
    group.define("lamps", version())
    group.name, own = "apiextensions.k8s.io", group.name
    body = group.body("customresourcedefinitions", version("v2"), kind="Other")
    body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    group.post(body)
    group.established("customresourcedefinitions")
    assert admin.get("/apis/apiextensions.k8s.io/v2/customresourcedefinitions").status_code == 404
    admin.delete(f"{DEFINITIONS}/customresourcedefinitions.apiextensions.k8s.io")
    gone = f"{DEFINITIONS}/customresourcedefinitions.apiextensions.k8s.io"
    until(lambda: admin.get(gone).status_code == 404, "the definition is gone")
    assert admin.get(f"{DEFINITIONS}/lamps.{own}").status_code == 200
