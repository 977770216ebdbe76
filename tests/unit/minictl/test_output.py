"""Tables, objects as text, JSONPath, durations, and what failures say: kubectl's forms."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from apimachinery import ages, errors
from client import rest
from minictl import durations, failures, jsonpath, output, tables
from minictl.failures import Refused, Several

TABLE: dict[str, Any] = {
    "kind": "Table",
    "columnDefinitions": [
        {"name": "Name", "format": "name", "priority": 0},
        {"name": "Up", "priority": 0},
        {"name": "IP", "priority": 1},
    ],
    "rows": [
        {"cells": ["a", 1, "10.0.0.1"], "object": {"metadata": {"namespace": "ns", "labels": {"b/x": "1", "a": "2"}}}},
        {"cells": ["a-longer-name", None, "two\nlines"], "object": {"metadata": {"namespace": "ns"}}},
    ],
}


def table(**layout: Any) -> str:
    chosen = tables.Layout(**layout)
    return tables.Columns().render([tables.header(TABLE, chosen), *tables.rows(TABLE, chosen)])


def test_columns_are_three_blanks_apart_and_the_last_is_ragged() -> None:
    assert table() == "NAME            UP\na               1\na-longer-name   <none>\n"


def test_wide_shows_more_and_a_cell_is_one_line() -> None:
    assert table(wide=True).splitlines()[2] == "a-longer-name   <none>   two..."


def test_flags_add_columns() -> None:
    assert table(namespace=True, kind="pod", labels=("b/x",), show_labels=True).splitlines() == [
        "NAMESPACE   NAME                UP       X     LABELS",
        "ns          pod/a               1        1     a=2,b/x=1",
        "ns          pod/a-longer-name   <none>         <none>",
    ]


def test_a_column_is_never_narrower_than_six() -> None:
    assert tables.Columns().render([["A", "B"], ["1", "2"]]) == "A     B\n1     2\n"


def test_lines_of_a_watch_stay_under_one_another() -> None:
    columns = tables.Columns()
    columns.render([["LONG-HEADER", "B"]])
    assert columns.render([["a", "b"]]) == "a             b\n"


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "managedFields": [{}], "labels": {"x.y/z": "1"}},
    "spec": {"containers": [{"name": "c", "n": 1, "ok": True}, {"name": "d", "n": 3}]},
}


def test_managed_fields_are_not_shown() -> None:
    assert "managedFields" not in output.render(POD, "yaml")
    assert "managedFields" not in output.render(output.as_list([POD]), "json")
    assert "managedFields" in POD["metadata"]  # the object itself is left alone


def test_yaml_is_kubectls() -> None:
    obj = {"b": ["x", {"k": "8080"}], "a": {"text": "l1\nl2\n", "yes": "true", "n": 1, "none": None, "empty": ""}}
    assert output.to_yaml(obj) == (
        'a:\n  empty: ""\n  n: 1\n  none: null\n  text: |\n    l1\n    l2\n  "yes": "true"\nb:\n- x\n- k: "8080"\n'
    )


@settings(deadline=None, max_examples=50)
@given(
    st.dictionaries(st.text(max_size=8), st.none() | st.booleans() | st.integers() | st.text(max_size=20), max_size=4)
)
def test_yaml_can_be_read_back(value: Any) -> None:
    assert yaml.safe_load(output.to_yaml({"v": value})) == {"v": value}


@pytest.mark.parametrize("form", ["table", "go-template=x", "jsonpath"])
def test_an_unknown_form_is_refused(form: str) -> None:
    with pytest.raises(Refused):
        output.check(form, ("json", "yaml", "jsonpath"))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{.metadata.name}", "a"),
        ("name: {.metadata.name}!", "name: a!"),
        ("{.spec.containers[*].name}", "c d"),
        ("{.spec.containers[0].n}", "1"),
        ("{.spec.containers[-1:].name}", "d"),
        ("{.spec.containers[0,1].n}", "1 3"),
        ("{.metadata.labels.x\\.y/z}", "1"),
        ("{.metadata.labels['x.y/z']}", "1"),
        ('{.spec.containers[?(@.name=="d")].n}', "3"),
        ("{.spec.containers[?(@.n>2)].name}", "d"),
        ("{.spec.containers[?(@.ok)].name}", "c"),
        ("{..name}", "a c d"),
        ("{$.kind}", "Pod"),
        ("{.spec.containers[0].ok}", "true"),
        ("{.spec.containers[0]}", '{"n":1,"name":"c","ok":true}'),
        ('{range .spec.containers[*]}{.name}{"="}{.n}{"\\n"}{end}', "c=1\nd=3\n"),
        ("{range .spec.none[*]}{.x}{end}|", "|"),
        ("{.missing}", ""),
    ],
)
def test_jsonpath_gives_what_kubectl_gives(template: str, expected: str) -> None:
    assert (
        jsonpath.render(
            template, {k: v for k, v in POD.items() if k != "x"} | {"metadata": {"name": "a", "labels": {"x.y/z": "1"}}}
        )
        == expected
    )


@pytest.mark.parametrize("template", ["{.a", "{range .a[*]}", "{end}", "{.a[x]}", "{.a[?(]}", "{#}"])
def test_a_broken_template_is_refused(template: str) -> None:
    with pytest.raises(Refused):
        jsonpath.render(template, POD)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (600, "10m"), (3 * 3600, "3h"), (3 * 3600 + 300, "3h5m"),
     (8 * 3600, "8h"), (48 * 3600, "2d"), (49 * 3600, "2d1h"), (8 * 86400, "8d"), (800 * 86400, "2y70d"),
     (9 * 365 * 86400, "9y"), (-5, "<invalid>")],
)  # fmt: skip
def test_ages_are_kubectls(seconds: int, text: str) -> None:
    assert ages.human(seconds) == text


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("1h30m", 5400), ("1.5m", 90), ("200ms", 0.2), ("7", 7)])
def test_durations_are_gos(text: str, seconds: float) -> None:
    assert durations.parse(text, "--timeout") == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5x", "m", "1h 3m", "-5s"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(Refused, match="invalid duration"):
        durations.parse(text, "--timeout")


INVALID = errors.invalid(
    "apps", "Deployment", "a", [errors.Cause("FieldValueInvalid", "Invalid value: -1", "spec.replicas")]
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.not_found("", "pods", "a"), 'Error from server (NotFound): pods "a" not found\n'),
        (INVALID, 'The Deployment "a" is invalid: spec.replicas: Invalid value: -1\n'),
        (errors.Unauthorized("Unauthorized"), "error: You must be logged in to the server (Unauthorized)\n"),
        (
            rest.ConnectionFailed("https://h:1", OSError(111, "Connection refused")),
            "The connection to the server h:1 was refused - did you specify the right host or port?\n",
        ),
        (
            rest.ConnectionFailed("https://h:1", OSError("Name or service not known")),
            "Unable to connect to the server: Name or service not known\n",
        ),
        (Refused("no"), "error: no\n"),
        (Several([Refused("a"), errors.not_found("", "pods", "b")]),
         'a\nError from server (NotFound): pods "b" not found\n'),
        (Several([Refused("a")]), "error: a\n"),
        (ExceptionGroup("tasks", [Refused("a")]), "error: a\n"),
    ],
)  # fmt: skip
def test_failures_are_said_in_kubectls_words(error: Exception, text: str) -> None:
    assert failures.text_of(error) == text


def test_several_causes_have_a_line_each() -> None:
    causes = [errors.Cause("FieldValueRequired", "Required value", f"spec.{name}") for name in "ab"]
    text = failures.text_of(errors.invalid("", "Pod", "a", causes))
    assert text == 'The Pod "a" is invalid: \n* spec.a: Required value\n* spec.b: Required value\n'


def test_a_bug_is_nobodys_text() -> None:
    assert failures.text_of(KeyError("x")) is None
    assert failures.text_of(ExceptionGroup("tasks", [Refused("a"), KeyError("x")])) is None


def test_go_templates_are_refused_with_what_to_use_instead() -> None:
    with pytest.raises(Refused, match="no Go templates: -o jsonpath"):
        output.check("go-template={{.metadata.name}}", ("json", "jsonpath"))
