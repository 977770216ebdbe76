"""`-o custom-columns`: kubectl's paths, values and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minictl import columns
from minictl.failures import Refused

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"b": "2", "a": "1"}, "empty": None},
    "spec": {"containers": [{"name": "c", "n": 1.5}, {"name": "d", "ok": True}], "n": 3.0, "esc": "\x1b[1m"},
}


@pytest.mark.parametrize(
    ("path", "cell"),
    [
        (".metadata.name", "a"),
        ("metadata.name", "a"),
        ("{.metadata.name}", "a"),
        ("{metadata.name}", "a"),
        (".spec.containers[*].name", "c,d"),
        ('.spec.containers[?(@.name=="d")].ok', "true"),
        (".metadata.labels", "map[a:1 b:2]"),
        (".spec.containers", "[map[n:1.5 name:c] map[name:d ok:true]]"),
        (".spec.n", "3"),
        (".spec.esc", "^[[1m"),
        (".metadata.empty", "<nil>"),
        (".spec.nothing.here", "<none>"),
        ("", "<none>"),
    ],
)
def test_a_field_is_shown_as_kubectl_shows_it(path: str, cell: str) -> None:
    assert columns.parse(f"custom-columns=X:{path}").text(POD) == f"X\n{cell}\n"


def test_a_list_has_a_row_for_each_object_and_one_header_for_all_that_follow() -> None:
    printer = columns.parse("custom-columns=NAME:.metadata.name,KIND:.kind")
    other = {"kind": "ConfigMap", "metadata": {"name": "a-longer-name"}}
    assert printer.text({"items": [POD, other]}) == (
        "NAME            KIND\na               Pod\na-longer-name   ConfigMap\n"
    )
    assert printer.text(POD) == "a               Pod\n"  # a later line of a watch


def test_headers_can_be_left_out() -> None:
    assert columns.parse("custom-columns=NAME:.kind", headers=False).text(POD) == "Pod\n"


def test_columns_can_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "columns"
    file.write_text("NAME        KIND\nmetadata.name   {.kind}\n")
    # the file's headers are shown whatever --no-headers says: kubectl's habit
    text = columns.parse(f"custom-columns-file={file}", headers=False).text(POD)
    assert text == "NAME   KIND\na      Pod\n"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("custom-columns", "custom-columns format specified but no custom columns given"),
        ("custom-columns=A", "unexpected custom-columns spec: A, expected <header>:<json-path-expr>"),
        ("custom-columns=A:.x,", "unexpected custom-columns spec: , expected <header>:<json-path-expr>"),
        ("custom-columns=A:{.x", "unexpected path string, expected a 'name1.name2' or '.name1.name2' or "),
        ("custom-columns-file=/nope", "error reading template /nope, open /nope: no such file or directory"),
    ],
)
def test_what_cannot_be_read_is_refused_in_kubectls_words(form: str, message: str) -> None:
    with pytest.raises(Refused) as refused:
        columns.parse(form)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "invalid template, missing header line."),
        ("NAME", "invalid template, missing spec line."),
        ("A B\n.x\n", r"number of headers \(2\) and field specifications \(1\) don't match"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "columns"
    file.write_text(text)
    with pytest.raises(Refused, match=message):
        columns.parse(f"custom-columns-file={file}")
