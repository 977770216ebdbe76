"""docs/controllers.md names every controller and every flag."""

from __future__ import annotations

from pathlib import Path

import pytest

from controllers import options, registry

TEXT = (Path(__file__).parents[3] / "docs" / "controllers.md").read_text()
FLAGS = [name for action in options.parser()._actions for name in action.option_strings if name.startswith("--")]


@pytest.mark.parametrize("name", [entry.name for entry in registry.CONTROLLERS])
def test_the_controller_is_documented(name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize("flag", sorted(set(FLAGS) - {"--help", "--v"}))
def test_the_flag_is_documented(flag: str) -> None:
    assert flag in TEXT
