from __future__ import annotations

from pathlib import Path

from apiserver.scheme import reference

PAGE = Path(__file__).parents[4] / "docs" / "kinds.md"


def test_the_page_of_kinds_is_what_the_table_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference.render(), (
        "run: python -m apiserver.scheme.reference docs/kinds.md"
    )
