"""Bodies become objects, or errors in the words of upstream's decoder."""

from __future__ import annotations

import pytest

from apimachinery import errors
from apimachinery.gvr import GVK
from apiserver.registry import decoding
from apiserver.registry.call import LOOPBACK, Call
from apiserver.scheme.scheme import Scheme


@pytest.fixture(scope="module")
def scheme() -> Scheme:
    return Scheme.builtin()


def call(scheme: Scheme, resource: str = "pods", group: str = "", validation: str = "Warn") -> Call:
    row = scheme.find(group, "v1", resource)
    assert row is not None
    return Call(LOOPBACK, row, "create", "default", field_validation=validation)


def test_a_body_without_kind_is_of_the_resources_kind(scheme: Scheme) -> None:
    obj = decoding.decode(scheme, call(scheme, "configmaps"), b'{"metadata":{"name":"a"}}')
    assert (obj["apiVersion"], obj["kind"]) == ("v1", "ConfigMap")


def test_yaml_is_read_where_it_is_said_to_be(scheme: Scheme) -> None:
    body = b"metadata: {name: a}\ndata: {k: v}"
    assert decoding.decode(scheme, call(scheme, "configmaps"), body, yaml=True)["data"] == {"k": "v"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'{"kind":"Service","apiVersion":"v1"}',
            'Service in version "v1" cannot be handled as a Pod: '
            "converting (v1.Service) to (v1.Pod): unknown conversion",
        ),
        (
            b'{"kind":"Pod","apiVersion":"v2"}',
            "the API version in the data (v2) does not match the expected API version (v1)",
        ),
        (
            b'{"spec":{"nodeName":1}}',
            'Pod in version "v1" cannot be handled as a Pod: '
            "json: cannot unmarshal number into Go struct field PodSpec.spec.nodeName of type string",
        ),
        (b"", "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error"),
        (b"[]", "the object provided is unrecognized (must be of type Pod)"),
        (b'{"kind":1}', "couldn't get version/kind; json parse error: apiVersion and kind must be strings"),
    ],
)
def test_what_cannot_be_read_is_a_bad_request(scheme: Scheme, body: bytes, message: str) -> None:
    with pytest.raises(errors.BadRequest) as caught:
        decoding.decode(scheme, call(scheme), body)
    assert caught.value.message.startswith(message)


BODY = b'{"metadata":{"name":"a"},"spec":{"foo":1,"nodeName":"a","nodeName":"b"}}'
NOTES = ['duplicate field "spec.nodeName"', 'unknown field "spec.foo"']


def test_field_validation_warns_unless_told_otherwise(scheme: Scheme) -> None:
    made = call(scheme)
    obj = decoding.decode(scheme, made, BODY)
    assert made.warnings == NOTES
    assert "foo" not in obj["spec"]


def test_strict_field_validation_refuses(scheme: Scheme) -> None:
    with pytest.raises(errors.BadRequest) as caught:
        decoding.decode(scheme, call(scheme, validation="Strict"), BODY)
    assert caught.value.message == (
        f'Pod in version "v1" cannot be handled as a Pod: strict decoding error: {", ".join(NOTES)}'
    )


def test_ignored_fields_go_in_silence(scheme: Scheme) -> None:
    made = call(scheme, validation="Ignore")
    assert "foo" not in decoding.decode(scheme, made, BODY)["spec"]
    assert made.warnings == []


def test_an_eviction_may_be_of_its_older_version(scheme: Scheme) -> None:
    body = b'{"kind":"Eviction","apiVersion":"policy/v1beta1","metadata":{"name":"a"}}'
    eviction = decoding.decode(scheme, call(scheme), body, expected=GVK("policy", "v1", "Eviction"))
    assert eviction["apiVersion"] == "policy/v1"
