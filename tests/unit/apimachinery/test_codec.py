"""JSON and YAML as the API reads them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import codec

_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(_json)
def test_what_is_encoded_is_decoded_from_either_form(value: object) -> None:
    encoded = codec.encode(value)
    duplicates: list[str] = []
    assert codec.decode_json(encoded, duplicates) == value
    assert codec.decode_json(json.dumps(value, indent=1).encode(), duplicates) == value
    assert duplicates == []


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (b'{"a":1,"a":2}', ["a"]),
        (b'{"a":{"b":1,"b":2},"l":[{"x":1},{"x":1,"x":1}]}', ["a.b", "l[1].x"]),
        (b'{"a": 1, "b": 2}', []),
        (b'{"a":1,"a":2,"a":3}', ["a"]),
    ],
)
def test_duplicate_keys_are_found_where_they_are_asked_for(text: bytes, paths: list[str]) -> None:
    found: list[str] = []
    codec.decode_json(text, found)
    assert found == paths


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2020-01-01", "2020-01-01"),
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("12:30:45", "12:30:45"),
        ("0644", 420),
        ("0o644", 420),
        ("0x1f", 31),
        ("1e3", 1000),
        ("1.5", 1.5),
        ("1_000", 1000),
        ("yes", True),
        ("off", False),
        ("y", "y"),
        ("~", None),
        ("''", ""),
        ("1.2.3", "1.2.3"),
        ("100m", "100m"),
    ],
)
def test_yaml_scalars_are_what_kubernetes_takes_them_for(text: str, value: object) -> None:
    assert codec.decode_yaml(f"a: {text}") == {"a": value}


def test_yaml_keys_are_strings() -> None:
    assert codec.decode_yaml("1: a\ntrue: b\nc: d") == {"1": "a", "true": "b", "c": "d"}


def test_aliases_and_merges_are_written_out_and_not_shared() -> None:
    value = codec.decode_yaml("a: &x {k: [1]}\nb: *x\nc: {<<: *x, j: 2}")
    assert value == {"a": {"k": [1]}, "b": {"k": [1]}, "c": {"k": [1], "j": 2}}
    value["a"]["k"].append(2)
    assert value["b"] == {"k": [1]}


def test_a_stream_has_many_documents_and_empty_ones_do_not_count() -> None:
    assert list(codec.decode_yaml_documents("---\na: 1\n---\n---\n# only this\n---\nb: 2\n")) == [{"a": 1}, {"b": 2}]
    with pytest.raises(codec.CodecError, match="expected one"):
        codec.decode_yaml("a: 1\n---\nb: 2")


def test_duplicate_yaml_keys_are_noted() -> None:
    found: list[str] = []
    assert codec.decode_yaml("a: 1\na: 2", found) == {"a": 2}
    assert found == ['line 2: key "a" already set in map']


@pytest.mark.parametrize("text", ["0x_", "0b_", "1e999", "9" * 5000, "0x" + "f" * 5000])
def test_what_looks_like_a_number_and_is_none_is_text(text: str) -> None:
    assert codec.decode_yaml(f"a: {text}") == {"a": text}


def test_an_integer_beyond_64_bits_is_a_float() -> None:
    assert codec.decode_yaml("a: 99999999999999999999") == {"a": 1e20}


def _bomb() -> str:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        _bomb(),
        "a: &a [*a]",
        "[" * 300 + "]" * 300,
        "[" * 100_000,
        "- " * 30_000 + "a",
        "{",
        "a: b: c",
        "a: .inf",
        "a: .nan",
        "? [a]\n: 1",
        "a: !!python/object/apply:os.system [ls]",
        "a: !!int x",
        "a: !!float x",
        "a: !!bool maybe",
        "a: !!timestamp 2001-99-99",
        "a: !!set [x]",
        "a: !!map x",
        "!!map x",
    ],
)
def test_hostile_or_broken_yaml_is_refused(text: str) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode_yaml(text)


@pytest.mark.parametrize("text", [b"", b"{", b"nul", b'{"a":}', b"\xff", b"[" * 300 + b"]" * 300, b'{"a":' * 100_000])
def test_hostile_or_broken_json_is_refused(text: bytes) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode_json(text, [])
