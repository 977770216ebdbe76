"""docs/minictl.md says what the parsers say."""

from __future__ import annotations

from pathlib import Path

from minictl import commands, reference

PAGE = Path(__file__).parents[3] / "docs" / "minictl.md"


def test_the_page_is_what_the_parsers_give() -> None:
    head, start, rest = PAGE.read_text().partition(reference.START)
    assert head.startswith("# minictl")
    assert start + rest == reference.render(), "run: python -m minictl.reference docs/minictl.md"


def test_every_command_has_its_chapter() -> None:
    text = PAGE.read_text()
    assert all(f"\n## {command.name}\n" in text for command in commands.COMMANDS)
