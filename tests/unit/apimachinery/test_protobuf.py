"""The protobuf form becomes the JSON that the client would have sent."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import protobuf
from apimachinery.codec import CodecError


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: bytes | str | int) -> bytes:
    """One field on the wire: an integer as a varint, everything else with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def envelope(api_version: str, kind: str, body: bytes) -> bytes:
    names = field(1, api_version) + field(2, kind)
    return b"k8s\x00" + field(1, names) + field(2, body) + field(3, "") + field(4, "")


def entry(key: str, value: bytes | str) -> bytes:
    return field(1, key) + field(2, value)


def test_a_config_map_with_texts_and_bytes() -> None:
    metadata = field(1, "a") + field(2, "") + field(3, "ns") + field(8, b"") + field(11, entry("app", "x"))
    body = (
        field(1, metadata)
        + field(2, entry("k", "v"))
        + field(2, entry("empty", ""))
        + field(3, entry("b", b"\x00\x01"))
    )
    assert protobuf.decode(envelope("v1", "ConfigMap", body)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "ns", "labels": {"app": "x"}},
        "data": {"k": "v", "empty": ""},
        "binaryData": {"b": "AAE="},
    }


def test_zero_is_kept_where_it_is_a_choice_and_dropped_where_it_is_nothing() -> None:
    spec = field(1, 0) + field(5, 0)  # replicas (optional), minReadySeconds (plain)
    decoded = protobuf.decode(envelope("apps/v1", "Deployment", field(2, spec)))
    assert decoded["spec"] == {"replicas": 0}


def test_numbers_texts_quantities_and_times_take_their_json_form() -> None:
    port = field(1, "web") + field(3, 80) + field(4, field(1, 1) + field(3, "http"))
    service = protobuf.decode(envelope("v1", "Service", field(2, field(1, port))))
    assert service["spec"]["ports"] == [{"name": "web", "port": 80, "targetPort": "http"}]
    numbered = field(3, 80) + field(4, field(1, 0) + field(2, 8080))
    service = protobuf.decode(envelope("v1", "Service", field(2, field(1, numbered))))
    assert service["spec"]["ports"] == [{"port": 80, "targetPort": 8080}]
    quota = protobuf.decode(envelope("v1", "ResourceQuota", field(2, field(1, entry("cpu", field(1, "500m"))))))
    assert quota["spec"] == {"hard": {"cpu": "500m"}}
    lease = field(2, field(1, "me") + field(2, 15) + field(4, field(1, 1_767_225_600) + field(2, 5_000)))
    decoded = protobuf.decode(envelope("coordination.k8s.io/v1", "Lease", lease))
    assert decoded["spec"]["renewTime"] == "2026-01-01T00:00:00.000005Z"
    assert decoded["spec"]["leaseDurationSeconds"] == 15


def test_an_inlined_message_is_merged_into_its_parent() -> None:
    volume = field(1, "v") + field(2, field(2, b""))  # VolumeSource.emptyDir
    decoded = protobuf.decode(envelope("v1", "Pod", field(2, field(1, volume))))
    assert decoded["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_negative_numbers_are_read_as_such() -> None:
    toleration = field(1, "k") + field(5, -1)
    decoded = protobuf.decode(envelope("v1", "Pod", field(2, field(22, toleration))))
    assert decoded["spec"]["tolerations"] == [{"key": "k", "tolerationSeconds": -1}]


def test_delete_options_come_in_the_group_of_their_resource() -> None:
    decoded = protobuf.decode(envelope("apps/v1", "DeleteOptions", field(1, 0) + field(4, "Orphan")))
    assert decoded["gracePeriodSeconds"] == 0
    assert decoded["propagationPolicy"] == "Orphan"


def test_extra_values_are_lists_of_their_own() -> None:
    spec = field(3, "u") + field(5, entry("scopes", field(1, "a") + field(1, "b")))
    decoded = protobuf.decode(envelope("authorization.k8s.io/v1", "SubjectAccessReview", field(2, spec)))
    assert decoded["spec"] == {"user": "u", "extra": {"scopes": ["a", "b"]}}


def test_unknown_fields_are_skipped() -> None:
    body = field(99, "later") + field(98, 7) + field(1, field(1, "a"))
    assert protobuf.decode(envelope("v1", "ConfigMap", body))["metadata"] == {"name": "a"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"k8s\x00",
        envelope("v1", "Gadget", b""),
        envelope("v1", "ConfigMap", b"\x0a\xff"),
        envelope("v1", "ConfigMap", field(1, 7)),
        envelope("v1", "ConfigMap", field(1, field(1, b"\xff\xfe"))),
    ],
)
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(CodecError):
        protobuf.decode(data)


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_being_refused(data: bytes) -> None:
    with contextlib.suppress(CodecError):
        protobuf.decode(envelope("v1", "Pod", data))
