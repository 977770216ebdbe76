"""Several versions of one definition: converted by name alone, or by a webhook, when read, written and watched."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.component import peers
from tests.component.apiextensions.conftest import DEFINITIONS, Group, Json, spec, until, version

MERGE = {"content-type": "application/merge-patch+json"}


def test_without_a_webhook_only_the_version_changes(group: Group, admin: httpx.Client) -> None:
    older = version("v1beta1", storage=False, schema=spec(size={"type": "integer"}))
    newer = version(schema=spec(size={"type": "integer"}, hue={"type": "string", "default": "red"}))
    old_path = group.define("lamps", older, newer)
    path = group.path("lamps")
    made = admin.post(old_path, json=group.object("lamps", "a", "v1beta1", spec={"size": 1}))
    assert (made.json()["apiVersion"], made.json()["spec"]) == (f"{group.name}/v1beta1", {"size": 1})
    assert admin.get(f"{path}/a").json()["spec"] == {"size": 1, "hue": "red"}
    assert admin.patch(f"{path}/a", json={"spec": {"hue": "blue"}}, headers=MERGE).status_code == 200
    assert admin.get(f"{old_path}/a").json()["spec"] == {"size": 1}
    assert [item["apiVersion"] for item in admin.get(old_path).json()["items"]] == [f"{group.name}/v1beta1"]
    versions = [item["version"] for item in admin.get(f"/apis/{group.name}").json()["versions"]]
    assert versions == ["v1", "v1beta1"]


def renaming(request: Json) -> Json:
    """v1 has `size`, v1beta1 has `bulk`."""
    wanted = request["desiredAPIVersion"]
    old, new = ("bulk", "size") if wanted.endswith("/v1") else ("size", "bulk")
    converted = []
    for obj in request["objects"]:
        fields = {new if name == old else name: value for name, value in (obj.get("spec") or {}).items()}
        converted.append(obj | {"apiVersion": wanted, "spec": fields})
    return {"convertedObjects": converted, "result": {"status": "Success"}}


@contextmanager
def converting(group: Group, folder: Path, answer: Callable[[Json], Json]) -> Iterator[tuple[str, str]]:
    """A definition of two versions with a webhook; the paths of v1 (stored) and v1beta1."""
    older = version("v1beta1", storage=False, schema=spec(bulk={"type": "integer"}))
    body = group.body("lamps", version(schema=spec(size={"type": "integer"})), older)
    with peers.webhook(folder, answer) as (url, ca):
        config = {"url": url, "caBundle": base64.b64encode(ca).decode()}
        webhook = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
        body["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
        group.post(body)
        group.established("lamps")
        yield group.path("lamps"), group.path("lamps", "v1beta1")


def test_a_webhook_converts_what_is_written_and_read(group: Group, admin: httpx.Client, tmp_path: Path) -> None:
    with converting(group, tmp_path, renaming) as (path, old_path):
        made = admin.post(old_path, json=group.object("lamps", "a", "v1beta1", spec={"bulk": 4}))
        assert made.json()["spec"] == {"bulk": 4}
        assert admin.get(f"{path}/a").json()["spec"] == {"size": 4}
        admin.post(path, json=group.object("lamps", "b", spec={"size": 5}))
        assert [item["spec"] for item in admin.get(old_path).json()["items"]] == [{"bulk": 4}, {"bulk": 5}]
        changed = admin.patch(f"{old_path}/b", json={"spec": {"bulk": 6}}, headers=MERGE)
        assert changed.json()["spec"] == {"bulk": 6}
        assert admin.get(f"{path}/b").json()["spec"] == {"size": 6}
        assert admin.delete(f"{old_path}/b").status_code == 200


def test_a_watch_of_the_other_version_sees_converted_events(group: Group, admin: httpx.Client, tmp_path: Path) -> None:
    events: list[Any] = []

    def watch(old_path: str) -> None:
        with admin.stream("GET", old_path, params={"watch": "1", "timeoutSeconds": "15"}) as response:
            for line in response.iter_lines():
                events.append(json.loads(line))
                if events[-1]["type"] == "DELETED":
                    return

    with converting(group, tmp_path, renaming) as (path, old_path):
        admin.post(path, json=group.object("lamps", "a", spec={"size": 1}))
        thread = threading.Thread(target=watch, args=(old_path,))
        thread.start()
        until(lambda: events, "the state comes")
        admin.patch(f"{path}/a", json={"spec": {"size": 2}}, headers=MERGE)
        admin.delete(f"{path}/a")
        thread.join(10)
    assert [(event["type"], event["object"]["spec"]) for event in events] == [
        ("ADDED", {"bulk": 1}),
        ("MODIFIED", {"bulk": 2}),
        ("DELETED", {"bulk": 2}),
    ]
    assert {event["object"]["apiVersion"] for event in events} == {f"{group.name}/v1beta1"}


def test_what_a_webhook_does_wrong_is_told(group: Group, admin: httpx.Client, tmp_path: Path) -> None:
    answers: list[Json] = []
    with converting(group, tmp_path, lambda _: answers[-1]) as (path, old_path):
        admin.post(path, json=group.object("lamps", "a", spec={"size": 1}))
        stored = admin.get(f"{path}/a").json()

        def told(answer: Json) -> str:
            answers.append(answer)
            failed = admin.get(f"{old_path}/a")
            assert failed.status_code == 500
            return str(failed.json()["message"])

        head = f"conversion webhook for {group.name}/v1, Kind=Lamp"
        refusal = {"result": {"status": "Failure", "message": "not today"}}
        assert told(refusal).endswith(f"{head} failed: not today")
        assert told({"result": {"status": "Success"}}).endswith(f"{head} returned 0 objects, expected 1")
        wrong = {"convertedObjects": [stored], "result": {"status": "Success"}}
        assert f"invalid groupVersion (expected {group.name}/v1beta1, received {group.name}/v1)" in told(wrong)
        renamed = stored | {"apiVersion": f"{group.name}/v1beta1", "metadata": stored["metadata"] | {"name": "z"}}
        wrong = {"convertedObjects": [renamed], "result": {"status": "Success"}}
        assert "must have the same name: a != z" in told(wrong)
        assert admin.get(f"{path}/a").status_code == 200
    assert "failed: Post" in admin.get(f"{old_path}/a").json()["message"]


def test_writing_an_object_as_it_is_moves_it_to_the_new_storage_version(group: Group, admin: httpx.Client) -> None:
    fields = spec(size={"type": "integer"})
    path = group.define("lamps", version(schema=fields), version("v2", storage=False, schema=fields))
    made = admin.post(path, json=group.object("lamps", "a", spec={"size": 1})).json()
    same = admin.put(f"{path}/a", json=made).json()
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    versions = [version(schema=fields, storage=False), version("v2", schema=fields)]
    assert group.change("lamps", {"spec": {"versions": versions}}).status_code == 200
    assert group.definition("lamps")["status"]["storedVersions"] == ["v1", "v2"]

    def moved() -> bool:
        answer = admin.put(f"{path}/a", json=made)
        assert answer.status_code == 200, answer.text
        return bool(answer.json()["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"])

    until(moved, "the object is written anew")
    now = admin.get(f"{path}/a").json()
    again = admin.put(f"{path}/a", json=now).json()
    assert again["metadata"]["resourceVersion"] == now["metadata"]["resourceVersion"]
    status = {"status": {"storedVersions": ["v2"]}}
    merge = {"content-type": "application/merge-patch+json"}
    settled = admin.patch(f"{DEFINITIONS}/lamps.{group.name}/status", json=status, headers=merge)
    assert settled.json()["status"]["storedVersions"] == ["v2"]
    assert group.change("lamps", {"spec": {"versions": [version("v2", schema=fields)]}}).status_code == 200
