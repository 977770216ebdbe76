"""Custom resources: pruned, defaulted, validated, patched, selected and shown as their definition says."""

from __future__ import annotations

import json
import threading

import httpx

from tests.component.apiextensions.conftest import Group, spec, until, version

MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def test_unknown_fields_are_pruned_warned_of_or_refused(group: Group, admin: httpx.Client) -> None:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": spec()}}
    path = group.define("lamps", version(schema=spec(size={"type": "integer"}, free=free)))
    body = group.object("lamps", "a", spec={"size": 1, "odd": 2, "free": {"any": {"deep": 1}, "known": {"x": 1}}})
    strict = admin.post(path, params={"fieldValidation": "Strict"}, json=body)
    assert strict.status_code == 400
    assert 'strict decoding error: unknown field "spec.free.known.x", unknown field "spec.odd"' in strict.text.replace(
        '\\"', '"'
    )
    warned = admin.post(path, params={"fieldValidation": "Warn"}, json=body)
    assert warned.json()["spec"] == {"size": 1, "free": {"any": {"deep": 1}, "known": {}}}
    assert 'unknown field \\"spec.odd\\"' in warned.headers["warning"]
    quiet = admin.post(path, params={"fieldValidation": "Ignore"}, json=body | {"metadata": {"name": "b"}})
    assert "warning" not in quiet.headers


def test_defaults_are_filled_in_when_written_and_when_read(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", version(schema=spec(size={"type": "integer", "default": 3})))
    made = admin.post(path, json=group.object("lamps", "a", spec={"size": None}))
    assert made.json()["spec"] == {"size": 3}
    versions = [version(schema=spec(size={"type": "integer"}, hue={"type": "string", "default": "red"}))]
    assert group.change("lamps", {"spec": {"versions": versions}}).status_code == 200
    until(lambda: admin.get(f"{path}/a").json()["spec"].get("hue"), "the new default is shown")
    assert admin.get(path).json()["items"][0]["spec"] == {"size": 3, "hue": "red"}


def test_values_are_refused_in_upstreams_words(group: Group, admin: httpx.Client) -> None:
    schema = spec(
        size={"type": "integer", "minimum": 1},
        hue={"type": "string", "enum": ["red", "blue"]},
        name={"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        port={"x-kubernetes-int-or-string": True},
        tags={"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        when={"type": "string", "format": "date-time"},
    ) | {"required": ["size"]}
    path = group.define("lamps", version(schema=schema))
    wrong = {"hue": "green", "name": "ABCDEF", "port": True, "tags": ["a", "a"], "when": "now"}
    told = admin.post(path, json=group.object("lamps", "a", spec=wrong)).json()
    assert told["message"].startswith(f'Lamp.{group.name} "a" is invalid: [')
    assert [f"{cause['field']}: {cause['message']}" for cause in told["details"]["causes"]] == [
        "spec.size: Required value",
        'spec.hue: Unsupported value: "green": supported values: "red", "blue"',
        "spec.name: Too long: may not be more than 5 bytes",
        """spec.name: Invalid value: "ABCDEF": spec.name in body should match '^[a-z]+$'""",
        'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
        'spec.when: Invalid value: "now": spec.when in body must be of type date-time: "now"',
        'spec.tags[1]: Duplicate value: "a"',
    ]
    low = admin.post(path, json=group.object("lamps", "a", spec={"size": 0})).json()["details"]["causes"][0]
    assert low["message"] == "Invalid value: 0: spec.size in body should be greater than or equal to 1"


def test_what_an_update_leaves_alone_is_not_judged_again(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", version(schema=spec(size={"type": "integer"}, hue={"type": "string"})))
    assert admin.post(path, json=group.object("lamps", "a", spec={"size": 1})).status_code == 201
    stricter = spec(size={"type": "integer", "minimum": 5}, hue={"type": "string"})
    group.change("lamps", {"spec": {"versions": [version(schema=stricter)]}})
    until(
        lambda: (
            admin.post(path, params={"dryRun": "All"}, json=group.object("lamps", "b", spec={"size": 1})).status_code
            == 422
        ),
        "the stricter schema holds",
    )
    assert admin.patch(f"{path}/a", json={"spec": {"hue": "red"}}, headers=MERGE).status_code == 200
    assert admin.patch(f"{path}/a", json={"spec": {"size": 2}}, headers=MERGE).status_code == 422


def test_status_and_spec_are_written_apart_and_counted(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", version(subresources={"status": {}}))
    made = admin.post(path, json=group.object("lamps", "a", spec={"x": 1}, status={"on": True})).json()
    assert "status" not in made
    assert made["metadata"]["generation"] == 1
    body = {"metadata": {"labels": {"a": "b"}}, "spec": {"x": 2}, "status": {"on": True}}
    lit = admin.patch(f"{path}/a/status", json=body, headers=MERGE).json()
    assert (lit["spec"], lit["status"], lit["metadata"]["generation"]) == ({"x": 1}, {"on": True}, 1)
    assert "labels" not in lit["metadata"]
    changed = admin.patch(f"{path}/a", json={"spec": {"x": 2}, "status": {"on": False}}, headers=MERGE).json()
    assert (changed["status"], changed["metadata"]["generation"]) == ({"on": True}, 2)
    labelled = admin.patch(f"{path}/a", json={"metadata": {"labels": {"a": "b"}}}, headers=MERGE).json()
    assert labelled["metadata"]["generation"] == 2


def test_scale_reads_and_writes_where_the_definition_says(group: Group, admin: httpx.Client) -> None:
    where = {"specReplicasPath": ".spec.count.wanted", "statusReplicasPath": ".status.count"}
    where["labelSelectorPath"] = ".status.selector"
    path = group.define("lamps", version(subresources={"status": {}, "scale": where}))
    admin.post(path, json=group.object("lamps", "a", spec={"count": {"wanted": 2, "other": 1}}))
    admin.patch(f"{path}/a/status", json={"status": {"count": 1, "selector": "a=b"}}, headers=MERGE)
    shown = admin.get(f"{path}/a/scale").json()
    assert (shown["kind"], shown["spec"], shown["status"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 1, "selector": "a=b"},
    )
    scaled = admin.patch(f"{path}/a/scale", json={"spec": {"replicas": 5}}, headers=MERGE)
    assert scaled.json()["spec"] == {"replicas": 5}
    assert admin.get(f"{path}/a").json()["spec"] == {"count": {"wanted": 5, "other": 1}}
    admin.post(path, json=group.object("lamps", "bare"))
    missing = admin.get(f"{path}/bare/scale")
    assert missing.status_code == 500
    assert 'the spec replicas field ".spec.count.wanted" does not exist' in missing.json()["message"]


def test_lists_and_maps_merge_by_the_schema_when_applied(group: Group, admin: httpx.Client) -> None:
    item = spec(name={"type": "string"}, value={"type": "string"}) | {"required": ["name"]}
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    path = group.define("lamps", version(schema=spec(parts=keyed)))

    def apply(manager: str, parts: object) -> httpx.Response:
        body = group.object("lamps", "a", spec={"parts": parts})
        return admin.patch(f"{path}/a", params={"fieldManager": manager}, content=json.dumps(body), headers=APPLY)

    assert apply("one", [{"name": "x", "value": "1"}]).status_code == 201
    both = apply("two", [{"name": "y", "value": "2"}])
    assert both.json()["spec"]["parts"] == [{"name": "x", "value": "1"}, {"name": "y", "value": "2"}]
    clash = apply("two", [{"name": "x", "value": "3"}])
    assert clash.status_code == 409
    assert '.spec.parts[name="x"].value' in clash.json()["message"]
    wrong = apply("one", [{"name": "x", "odd": "3"}])
    assert '.spec.parts[name="x"].odd: field not declared in schema' in wrong.json()["message"]


def test_a_strategic_merge_patch_is_for_built_in_kinds(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", version())
    admin.post(path, json=group.object("lamps", "a"))
    headers = {"content-type": "application/strategic-merge-patch+json"}
    answer = admin.patch(f"{path}/a", json={}, headers=headers)
    assert answer.status_code == 415
    assert "application/apply-patch+yaml" in answer.json()["message"]


def test_an_update_needs_a_resource_version(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", version())
    admin.post(path, json=group.object("lamps", "a"))
    answer = admin.put(f"{path}/a", json=group.object("lamps", "a"))
    assert answer.status_code == 422
    assert answer.json()["details"]["causes"][0]["field"] == "metadata.resourceVersion"


def test_columns_come_from_the_definition(group: Group, admin: httpx.Client) -> None:
    ready = '.status.conditions[?(@.type=="Ready")].status'
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How large."},
        {"name": "Ready", "type": "string", "jsonPath": ready},
        {"name": "Hosts", "type": "string", "jsonPath": ".spec.hosts", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    path = group.define("lamps", version(additionalPrinterColumns=columns))
    conditions = [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]
    body = group.object("lamps", "a", spec={"size": 3, "hosts": ["x", "y"]}, status={"conditions": conditions})
    admin.post(path, json=body)
    table = admin.get(path, headers=TABLE).json()
    assert [(item["name"], item["type"], item["priority"]) for item in table["columnDefinitions"]] == [
        ("Name", "string", 0),
        ("Size", "integer", 0),
        ("Ready", "string", 0),
        ("Hosts", "string", 1),
        ("Age", "date", 0),
    ]
    cells = table["rows"][0]["cells"]
    assert cells[:4] == ["a", 3, "True", '["x","y"]']
    assert cells[4].endswith("s")


def test_selectable_fields_select_lists_and_watches(group: Group, admin: httpx.Client) -> None:
    schema = spec(size={"type": "integer"}, hue={"type": "string", "default": "red"})
    fields = [{"jsonPath": ".spec.size"}, {"jsonPath": ".spec.hue"}]
    path = group.define("lamps", version(schema=schema, selectableFields=fields))
    for name, size, hue in (("a", 1, None), ("b", 2, "blue")):
        chosen = {"size": size} | ({"hue": hue} if hue else {})
        admin.post(path, json=group.object("lamps", name, spec=chosen))

    def names(selector: str) -> list[str]:
        found = admin.get(path, params={"fieldSelector": selector})
        return [item["metadata"]["name"] for item in found.json()["items"]]

    assert names("spec.size=1") == ["a"]
    assert names("spec.hue=red") == ["a"]
    assert names("spec.hue!=red") == ["b"]
    refused = admin.get(path, params={"fieldSelector": "spec.other=1"})
    assert (refused.status_code, refused.json()["message"]) == (400, "field label not supported: spec.other")


def test_a_watch_ends_when_its_definition_changes(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", version())
    ended = threading.Event()
    began = threading.Event()

    def watch() -> None:
        with admin.stream("GET", path, params={"watch": "1", "timeoutSeconds": "15"}) as response:
            began.set()
            for _ in response.iter_raw():
                pass
        ended.set()

    thread = threading.Thread(target=watch)
    thread.start()
    assert began.wait(5)
    group.change("lamps", {"spec": {"versions": [version(additionalPrinterColumns=[])]}})
    assert ended.wait(5), "the watch goes on"
    thread.join()


def test_embedded_objects_have_a_type_and_metadata(group: Group, admin: httpx.Client) -> None:
    inner = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    path = group.define("lamps", version(schema=spec(template=inner)))
    bare = admin.post(path, json=group.object("lamps", "a", spec={"template": {"x": 1}}))
    assert [cause["field"] for cause in bare.json()["details"]["causes"]] == [
        "spec.template.apiVersion",
        "spec.template.kind",
    ]
    template = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "odd": 1}, "spec": {"any": True}}
    made = admin.post(path, json=group.object("lamps", "a", spec={"template": template}))
    assert made.json()["spec"]["template"] == template | {"metadata": {"name": "p"}}


def test_cluster_scoped_objects_have_no_namespace(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", version(), scope="Cluster")
    assert path == f"/apis/{group.name}/v1/lamps"
    made = admin.post(path, json=group.object("lamps", "a"))
    assert made.status_code == 201
    assert "namespace" not in made.json()["metadata"]
    assert admin.get(group.path("lamps")).status_code == 404


def test_a_deprecated_version_warns(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", version(deprecated=True))
    assert admin.get(path).headers["warning"] == f'299 - "{group.name}/v1 Lamp is deprecated"'


def test_custom_resources_have_no_protobuf_form(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", version())
    binary = "application/vnd.kubernetes.protobuf"
    sent = admin.post(path, content=b"k8s\0", headers={"content-type": binary})
    assert sent.status_code == 415
    assert sent.json()["message"].endswith("accepted media types include: application/json, application/yaml")
    assert admin.get(path, headers={"accept": binary}).status_code == 406
    either = admin.get(path, headers={"accept": f"{binary},application/json"})
    assert (either.status_code, either.headers["content-type"]) == (200, "application/json")


def test_a_built_in_group_version_is_not_taken_over(group: Group, admin: httpx.Client) -> None:
    group.name = "networking.k8s.io"
    body = group.body("ingresses", version(), kind="Ingress", listKind="IngressList")
    body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://example.com/approved"}
    group.post(body)
    until(lambda: group.definition("ingresses").get("status", {}).get("conditions"), "it is judged")
    table = admin.get(group.path("ingresses"), headers=TABLE).json()
    assert [item["name"] for item in table["columnDefinitions"]][:2] == ["Name", "Class"]
