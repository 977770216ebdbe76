"""Bodies that were good once: of creates, updates, patches, applies and deletes, in JSON, YAML and protobuf."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import protobuf
from tests.fuzz import mutations, samples
from tests.fuzz import target as targets
from tests.fuzz.budget import examples
from tests.fuzz.target import Target

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
_by_kind = st.sampled_from(samples.ALL)
_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_QUERIES = ("", "?dryRun=All", "?fieldValidation=Strict", "?fieldValidation=Ignore", "?fieldManager=f")


@pytest.fixture(scope="module")
def filled(running: Target) -> None:
    """One good object of each kind, to be changed."""
    for sample in samples.ALL:
        answer = running.ask("POST", samples.PLACES[sample["kind"]], samples.encoded(sample))
        assert answer.code in (201, 409), answer.body


@given(mutations.changed(samples.ALL), st.sampled_from(samples.ALL), st.sampled_from(_QUERIES))
@examples(200)
def test_any_tree_is_created_or_refused(target: Target, tree: Any, sample: Any, query: str) -> None:
    kind = tree.get("kind") if isinstance(tree, dict) else None
    place = samples.PLACES.get(kind if isinstance(kind, str) else "", samples.PLACES[sample["kind"]])
    targets.check(target.ask("POST", place + query, samples.encoded(tree)))


@pytest.mark.usefixtures("filled")
@given(mutations.changed(samples.ALL), st.sampled_from(samples.ALL), st.sampled_from(("", "/status", "/scale")))
@examples(240)
def test_any_tree_updates_or_is_refused(target: Target, tree: Any, sample: Any, subresource: str) -> None:
    kind = tree.get("kind") if isinstance(tree, dict) else None
    place = samples.PLACES.get(kind if isinstance(kind, str) else "", samples.PLACES[sample["kind"]])
    targets.check(target.ask("PUT", f"{place}/sample{subresource}", samples.encoded(tree)))


@pytest.mark.usefixtures("filled")
@given(mutations.changed(samples.ALL), st.sampled_from(samples.ALL), st.sampled_from(_PATCHES), st.booleans())
@examples(200)
def test_any_tree_patches_or_is_refused(target: Target, tree: Any, sample: Any, patch: str, alone: bool) -> None:
    if alone and isinstance(tree, dict):
        tree.pop("metadata", None)
    place = f"{samples.PLACES[sample['kind']]}/sample?fieldManager=f&force=true"
    targets.check(target.ask("PATCH", place, samples.encoded(tree), patch))


_operations = st.fixed_dictionaries(
    {
        "op": st.sampled_from(("add", "remove", "replace", "move", "copy", "test", "x")),
        "path": st.one_of(
            st.sampled_from(
                ("", "/", "/metadata", "/spec", "/spec/containers/0", "/spec/containers/-", "/data/key", "/~2")
            ),
            st.text(max_size=6),
        ),
    },
    optional={"value": mutations.values, "from": st.sampled_from(("", "/metadata", "/spec", "/data", "/spec/x"))},
)


@pytest.mark.usefixtures("filled")
@given(_by_kind, st.lists(_operations, max_size=4))
@examples(150)
def test_any_json_patch_is_done_or_refused(target: Target, sample: Any, operations: Any) -> None:
    place = f"{samples.PLACES[sample['kind']]}/sample"
    targets.check(target.ask("PATCH", place, samples.encoded(operations), "application/json-patch+json"))


_OPTIONS = (
    {"gracePeriodSeconds": 0, "propagationPolicy": "Foreground", "preconditions": {"uid": "x", "resourceVersion": "1"}},
    {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"], "orphanDependents": True},
)


@given(_by_kind, mutations.changed(_OPTIONS), st.booleans())
@examples(200)
def test_any_options_of_a_delete_are_taken_or_refused(target: Target, sample: Any, options: Any, all_: bool) -> None:
    place = samples.PLACES[sample["kind"]] + ("?dryRun=All" if all_ else "/nothing")
    targets.check(target.ask("DELETE", place, samples.encoded(options)))


_TREES = tuple(samples.encoded(sample) for sample in samples.ALL)
_TEXTS = (
    *(yaml.safe_dump(sample).encode() for sample in samples.ALL),
    b"a: &a [x]\nb: [*a, *a]\n",
    b"<<: {a: 1}\n? [1]\n: 2\n",
    b"--- \n--- \n",
)


@given(_by_kind, mutations.flipped(_TREES))
@examples(200)
def test_any_json_is_taken_or_refused(target: Target, sample: Any, body: bytes) -> None:
    targets.check(target.ask("POST", samples.PLACES[sample["kind"]] + "?dryRun=All", body, JSON))


@given(_by_kind, mutations.flipped(_TEXTS))
@examples(150)
def test_any_yaml_is_taken_or_refused(target: Target, sample: Any, body: bytes) -> None:
    targets.check(target.ask("POST", samples.PLACES[sample["kind"]] + "?dryRun=All", body, YAML))


_MESSAGES = tuple(
    protobuf.encode(sample) for sample in (samples.POD, samples.DEPLOYMENT, samples.CONFIG_MAP, samples.SERVICE)
)


@given(_by_kind, mutations.flipped(_MESSAGES))
@examples(200)
def test_any_protobuf_is_taken_or_refused(target: Target, sample: Any, body: bytes) -> None:
    targets.check(target.ask("POST", samples.PLACES[sample["kind"]] + "?dryRun=All", body, PROTOBUF))


@given(_by_kind, st.binary(max_size=60), st.sampled_from((JSON, YAML, PROTOBUF, "text/plain", "application/cbor", "x")))
@examples(150)
def test_any_bytes_are_taken_or_refused(target: Target, sample: Any, body: bytes, content_type: str) -> None:
    targets.check(target.ask("POST", samples.PLACES[sample["kind"]], body, content_type))


def test_the_samples_are_good(target: Target) -> None:
    """Else nothing would be learned from what was made of them."""
    for sample in samples.ALL:
        answer = target.ask("POST", samples.PLACES[sample["kind"]] + "?dryRun=All", samples.encoded(sample))
        assert answer.code in (201, 409), answer.body
