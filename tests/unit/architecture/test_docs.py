"""The documentation says what the code is: steps, recipes, make targets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controllers import registry

ROOT = Path(__file__).parents[3]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
STEPS = re.compile(r"^\| ([KACSL]\d+) \|", re.MULTILINE)


def test_every_step_of_the_walk_through_is_on_the_page() -> None:
    expected = [f"K{n}" for n in range(1, 6)] + [f"A{n}" for n in range(1, 12)] + [f"C{n}" for n in range(1, 6)]
    expected += [f"S{n}" for n in range(1, 6)] + [f"L{n}" for n in range(1, 16)]
    assert STEPS.findall((ROOT / "docs" / "steps.md").read_text()) == expected


def test_the_file_of_a_step_names_it() -> None:
    """Who searches for the name of a step must land in the place that the page tells."""
    for line in (ROOT / "docs" / "steps.md").read_text().splitlines():
        step = re.match(r"\| ([KACSL]\d+) \|", line)
        places = [ROOT / "docs" / target for target in re.findall(r"\]\(([^)]+)\)", line)]
        if step and places:  # a step without a place is still to come
            text = "".join(file.read_text() for place in places for file in files_of(place))
            assert re.search(rf"\b{step[1]}\b", text), f"{step[1]} is not named in {places}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(
        r"`((?:apimachinery|apiserver|client|controllers|scheduler|kubelet|minictl|certs)/[\w/.]+)`", page.read_text()
    )
    missing = [name for name in named if not (ROOT / name).exists() and "NAME" not in name]
    assert not missing


def test_the_controllers_page_lists_what_runs_and_only_that_as_running() -> None:
    runs, _, missing = (ROOT / "docs" / "controllers.md").read_text().partition("## Not here yet")
    rows = [line.split("|")[1] for line in runs.splitlines() if line.startswith("| `") and "room" not in line]
    listed = {name for row in rows for name in re.findall(r"`([a-z-]+-controller)`", row)}
    ours = {entry.name for entry in registry.CONTROLLERS}
    assert listed == ours
    assert ours.isdisjoint(re.findall(r"`([a-z-]+-controller)`", missing))


def test_every_make_target_explains_itself_and_help_lists_it() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony is not None
    explained = re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE)
    assert sorted(phony[1].split()) == sorted(explained)


def files_of(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]
