"""The pure parts of commands: manifests, grace periods, log queries, exec's channels, descriptions."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from apimachinery import errors
from minictl import channels, manifests, terminal
from minictl.commands import apply, delete, logs
from minictl.context import Context
from minictl.describe import data, generic, layout
from minictl.failures import Refused

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


class Said:
    """A context that only hears warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    @property
    def context(self) -> Context:
        return cast(Context, self)


# -- manifests


def test_documents_and_lists_are_taken_apart_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n---\n"
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n"
    )
    (tmp_path / "a.json").write_text('{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"c"}}')
    (tmp_path / "notes.txt").write_text("not a manifest")
    found = manifests.read([str(tmp_path)], io.StringIO())
    assert [(m.gvk.kind, m.obj["metadata"]["name"]) for m in found] == [
        ("Deployment", "c"),
        ("Pod", "a"),
        ("Secret", "b"),
    ]


def test_subfolders_are_looked_into_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.yml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: a}}")
    with pytest.raises(Refused, match="recognized file extensions are"):
        manifests.read([str(tmp_path)], io.StringIO())
    assert len(manifests.read([str(tmp_path)], io.StringIO(), recursive=True)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no objects passed"),
        ("- a", "error parsing STDIN: an object is expected, not list"),
        ("kind: Pod", "error validating STDIN: error validating data: apiVersion not set"),
        ("apiVersion: v1", "error validating STDIN: error validating data: kind not set"),
        ("apiVersion: v1\nkind: Pod\nmetadata: x", "metadata must be an object"),
        ("a: [", "error parsing STDIN"),
        ("apiVersion: v1\nkind: Pod\nkind: Pod", 'error parsing STDIN: line 3: key "kind" already set in map'),
    ],
)
def test_what_is_no_object_is_refused(text: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        manifests.read(["-"], io.StringIO(text))


@pytest.mark.parametrize("name", ["/nope", "https://example.com/a.yaml"])
def test_what_cannot_be_read_is_refused(name: str) -> None:
    with pytest.raises(Refused, match=f'the path "{name}"'):
        manifests.read([name], io.StringIO())


# -- delete


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, None),
        ({"grace_period": 30}, 30),
        ({"grace_period": 0}, 1),  # not lost by a slip of the finger
        ({"grace_period": 0, "force": True}, 0),
        ({"force": True}, 0),
        ({"now": True}, 1),
    ],
)
def test_a_grace_period_is_what_the_flags_mean_together(flags: dict[str, Any], expected: int | None) -> None:
    args = argparse.Namespace(**({"grace_period": -1, "force": False, "now": False} | flags))
    said = Said()
    assert delete.grace_period(said.context, args) == expected
    assert bool(said.warnings) is args.force


@pytest.mark.parametrize("flags", [{"now": True, "grace_period": 5}, {"force": True, "grace_period": 5}])
def test_contradicting_grace_periods_are_refused(flags: dict[str, Any]) -> None:
    args = argparse.Namespace(**({"grace_period": -1, "force": False, "now": False} | flags))
    with pytest.raises(Refused, match="cannot be specified together"):
        delete.grace_period(Said().context, args)


# -- logs


def log_flags(**flags: Any) -> argparse.Namespace:
    plain = {"follow": False, "previous": False, "timestamps": False, "since": "", "since_time": "", "tail": -1}
    return argparse.Namespace(
        **(plain | {"limit_bytes": 0, "selector": None, "container": "", "all_containers": False} | flags)
    )


@pytest.mark.parametrize(
    ("flags", "query"),
    [
        ({}, {}),
        ({"follow": True, "timestamps": True}, {"follow": "true", "timestamps": "true"}),
        ({"since": "5m", "tail": 0}, {"sinceSeconds": "300", "tailLines": "0"}),
        ({"selector": "a=b"}, {"tailLines": "10"}),
        ({"selector": "a=b", "tail": 3}, {"tailLines": "3"}),
        ({"previous": True, "limit_bytes": 9}, {"previous": "true", "limitBytes": "9"}),
    ],
)
def test_log_flags_become_a_query(flags: dict[str, Any], query: dict[str, str]) -> None:
    assert logs.parameters(log_flags(**flags)) == query


POD = {
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "app"}, {"name": "side"}], "initContainers": [{"name": "init"}]},
}


def test_the_first_container_is_the_default_and_that_is_said() -> None:
    said = Said()
    assert logs.containers(said.context, log_flags(), POD) == ["app"]
    assert said.warnings == ['Defaulted container "app" out of: app, side, init (init)']


def test_an_annotation_names_the_default_container() -> None:
    said = Said()
    pod = POD | {"metadata": {"name": "a", "annotations": {logs.DEFAULT_CONTAINER: "side"}}}
    assert logs.containers(said.context, log_flags(), pod) == ["side"]
    assert said.warnings == []


def test_a_container_that_is_not_there_is_refused() -> None:
    with pytest.raises(Refused, match="container nope is not valid for pod a out of: "):
        logs.containers(Said().context, log_flags(container="nope"), POD)


# -- exec


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ({"status": "Success"}, 0),
        (
            {
                "status": "Failure",
                "reason": "NonZeroExitCode",
                "details": {"causes": [{"reason": "ExitCode", "message": "42"}]},
            },
            42,
        ),
    ],
)
def test_the_last_status_holds_the_exit_code(status: dict[str, Any], code: int) -> None:
    assert channels.exit_code(json.dumps(status).encode()) == code


def test_a_command_that_could_not_start_is_an_error() -> None:
    status = errors.InternalError("container not running").to_status()
    with pytest.raises(Refused, match="container not running"):
        channels.exit_code(json.dumps(status).encode())


class Socket:
    """A WebSocket that has received these messages."""

    def __init__(self, *messages: bytes, subprotocol: str = channels.PROTOCOLS[0]) -> None:
        self.messages = list(messages)
        self.subprotocol = subprotocol
        self.sent: list[bytes] = []

    async def send(self, message: bytes) -> None:
        self.sent.append(message)

    async def __aiter__(self) -> Any:
        for message in self.messages:
            yield message


async def test_output_goes_to_its_stream_and_the_status_ends_it() -> None:
    socket = Socket(b"\x01", b"\x01out", b"\x02err", b"\x01put", b'\x03{"status":', b'\x03"Success"}')
    written: list[tuple[int, bytes]] = []
    assert await channels.Channels(socket).receive(lambda channel, block: written.append((channel, block))) == 0
    assert written == [(1, b"out"), (2, b"err"), (1, b"put")]


async def test_a_connection_that_ends_without_a_status_is_an_error() -> None:
    with pytest.raises(Refused, match="the connection ended before the command did"):
        await channels.Channels(Socket(b"\x01out")).receive(lambda channel, block: None)


async def test_input_is_cut_into_messages_and_its_end_told_where_the_protocol_can() -> None:
    new, old = Socket(), Socket(subprotocol="v4.channel.k8s.io")
    for socket in (new, old):
        session = channels.Channels(socket)
        await session.send(channels.STDIN, b"x" * (channels.CHUNK + 1))
        await session.close_stdin()
    assert [len(message) for message in new.sent] == [channels.CHUNK + 1, 2, 2]
    assert new.sent[-1] == bytes([255, 0])
    assert len(old.sent) == 2


async def test_standard_input_is_read_to_its_end() -> None:
    read, write = os.pipe()
    os.write(write, b"hello")
    os.close(write)
    async with asyncio.timeout(5):
        assert b"".join([block async for block in terminal.blocks(read)]) == b"hello"
    os.close(read)


# -- apply


def test_the_annotation_holds_the_object_without_itself() -> None:
    obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "annotations": {apply.LAST_APPLIED: "old", "b": "c"}},
    }
    made = apply.annotated(obj, "ns")
    kept = json.loads(made["metadata"]["annotations"][apply.LAST_APPLIED])
    assert kept["metadata"] == {"name": "a", "namespace": "ns", "annotations": {"b": "c"}}
    assert made["metadata"]["annotations"]["b"] == "c"
    assert obj["metadata"]["annotations"][apply.LAST_APPLIED] == "old"  # the manifest is left as it was


# -- describe


def test_columns_line_up_within_a_block_only() -> None:
    assert layout.align(["Name:\ta", "Long name:\tb", "Heading:", "  x:\t1"]) == (
        "Name:       a\nLong name:  b\nHeading:\n  x:  1\n"
    )


def test_later_columns_line_up_too() -> None:
    assert layout.align(["a\tb\tc", "aaa\tbbb\tc", "x"]) == "a    b    c\naaa  bbb  c\nx\n"


def test_a_secret_shows_sizes_not_values() -> None:
    obj = {"metadata": {"name": "s", "namespace": "ns"}, "type": "Opaque", "data": {"password": "aHVudGVyMg=="}}
    text = layout.align(data.secret(obj, [], NOW))
    assert "password:  7 bytes" in text
    assert "aHVudGVyMg" not in text and "hunter2" not in text


def test_events_are_told_oldest_first_with_their_count() -> None:
    event = {"type": "Warning", "reason": "Failed", "source": {"component": "kubelet"}, "message": "no\n"}
    first = event | {"firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:59:50Z", "count": 4}
    second = event | {
        "firstTimestamp": "2026-01-01T00:59:00Z",
        "lastTimestamp": "2026-01-01T00:59:00Z",
        "reason": "Old",
    }
    lines = layout.events([first, second], NOW)
    assert lines[3:] == ["  Warning\tOld\t60s\tkubelet\tno", "  Warning\tFailed\t10s (x4 over 60m)\tkubelet\tno"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("creationTimestamp", "Creation Timestamp"),
        ("uid", "UID"),
        ("podIP", "Pod IP"),
        ("clusterIPs", "Cluster I Ps"),
        ("app.kubernetes.io/name", "app.kubernetes.io/name"),
    ],
)
def test_field_names_become_titles(name: str, title: str) -> None:
    assert generic.title(name) == title


def test_any_object_is_a_tree_of_its_fields() -> None:
    obj = {
        "apiVersion": "x.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "ns", "generation": 1},
        "spec": {"parts": [{"size": 1}, {"size": 2}], "tags": ["a"], "on": True},
    }
    assert layout.align(generic.describe(obj, [], NOW)) == (
        "Name:         w\nNamespace:    ns\nLabels:       <none>\nAnnotations:  <none>\nAPI Version:  x.dev/v1\n"
        "Kind:         Widget\nMetadata:\n  Generation:  1\nSpec:\n  On:  true\n  Parts:\n    Size:  1\n    Size:  2\n"
        "  Tags:\n    a\nEvents:  <none>\n"
    )
