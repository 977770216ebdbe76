"""Names of definitions: who gets them, who waits, what the conditions say."""

from __future__ import annotations

from typing import Any

from apiserver.apiextensions import conditions, naming

_THEN, _NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
Definition = dict[str, Any]


def definition(plural: str, *, group: str = "example.com", **names: Any) -> Definition:
    kind = plural.removesuffix("s").capitalize()
    wanted = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List", **names}
    return {"metadata": {"name": f"{plural}.{group}"}, "spec": {"group": group, "names": wanted}}


def test_names_that_nobody_has_are_accepted_at_once() -> None:
    told = naming.accepted(definition("lamps"), [], _NOW)
    assert told["status"]["acceptedNames"] == told["spec"]["names"]
    assert conditions.is_true(told, conditions.ESTABLISHED)


def test_judging_again_changes_nothing() -> None:
    once = naming.accepted(definition("lamps", categories=["all"]), [], _THEN)
    assert naming.accepted(once, [once], _NOW) == once


def test_a_kind_of_another_definition_of_the_group_is_refused() -> None:
    first = naming.accepted(definition("lamps"), [], _THEN)
    second = naming.accepted(definition("lights", kind="Lamp"), [first], _NOW)
    told = conditions.find(second, conditions.NAMES_ACCEPTED)
    assert told is not None
    assert (told["reason"], told["message"]) == ("KindConflict", '"Lamp" is already in use')
    assert "kind" not in second["status"]["acceptedNames"]
    assert not conditions.is_true(second, conditions.ESTABLISHED)


def test_the_same_names_in_another_group_are_free() -> None:
    first = naming.accepted(definition("lamps"), [], _THEN)
    assert conditions.is_true(
        naming.accepted(definition("lamps", group="other.com"), [first], _NOW), conditions.ESTABLISHED
    )


def test_who_is_established_stays_so_when_it_asks_for_a_name_that_is_taken() -> None:
    first = naming.accepted(definition("lamps", shortNames=["lp"]), [], _THEN)
    second = naming.accepted(definition("lights"), [first], _THEN)
    second["spec"]["names"]["shortNames"] = ["lp", "lg"]
    told = naming.accepted(second, [first, second], _NOW)
    assert not conditions.is_true(told, conditions.NAMES_ACCEPTED)
    assert conditions.is_true(told, conditions.ESTABLISHED)
    assert "shortNames" not in told["status"]["acceptedNames"]


def test_a_conditions_time_moves_only_with_its_status() -> None:
    once: Definition = {"metadata": {}}
    conditions.put(once, _THEN, "X", "True", "A", "a")
    conditions.put(once, _NOW, "X", "True", "B", "b")
    assert conditions.find(once, "X") == {
        "type": "X",
        "status": "True",
        "reason": "B",
        "message": "b",
        "lastTransitionTime": _THEN,
    }
    conditions.put(once, _NOW, "X", "False", "B", "b")
    assert (conditions.find(once, "X") or {})["lastTransitionTime"] == _NOW
