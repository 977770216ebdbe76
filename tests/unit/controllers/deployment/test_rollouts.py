"""Every scenario of `scenarios/`: commands at the left, what they print indented beneath, reasons in comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.controllers.deployment.world import World

SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.txt"))


def replay(text: str) -> str:
    """The scenario with the outputs as they are now."""
    world, result = World(), []
    for line in text.splitlines():
        if line.startswith("  "):
            continue
        result.append(line)
        if line and not line.startswith("#"):
            result += [f"  {output}" for output in world.run(line)]
    return "\n".join(result) + "\n"


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_scenario_goes_as_written(path: Path) -> None:
    text = path.read_text()
    assert replay(text) == text
