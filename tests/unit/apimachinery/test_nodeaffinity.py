from __future__ import annotations

from typing import Any

from apimachinery import nodeaffinity


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": spec}


def test_a_pod_without_wishes_requires_nothing_and_matches_every_node() -> None:
    required = nodeaffinity.required(pod())
    assert not required
    assert required.matches({}, "a")


def test_every_label_of_the_selector_must_be_there() -> None:
    required = nodeaffinity.required(pod(nodeSelector={"a": "1", "b": "2"}))
    assert required.matches({"a": "1", "b": "2", "c": "3"}, "n")
    assert not required.matches({"a": "1"}, "n")


def test_selector_and_terms_must_both_hold() -> None:
    terms = [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    required = nodeaffinity.required(pod(nodeSelector={"a": "1"}, affinity=affinity))
    assert required.matches({"a": "1", "disk": "x"}, "n")
    assert not required.matches({"disk": "x"}, "n")
    assert not required.matches({"a": "1"}, "n")


def test_no_terms_at_all_match_no_node() -> None:
    affinity: dict[str, Any] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}
    assert not nodeaffinity.required(pod(affinity=affinity)).matches({}, "n")


def test_wishes_carry_their_weights() -> None:
    wish = {"weight": 5, "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    (preferred,) = nodeaffinity.preferred(pod(affinity=affinity))
    assert preferred.weight == 5
    assert preferred.term.matches({}, "n")
    assert not preferred.term.matches({}, "m")
