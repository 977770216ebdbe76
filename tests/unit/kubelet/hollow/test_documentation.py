from __future__ import annotations

from pathlib import Path

from kubelet.hollow import images


def test_the_page_names_every_image_that_is_missing_by_default() -> None:
    page = (Path(__file__).parents[4] / "docs" / "hollow.md").read_text()
    assert [pattern for pattern in images.MISSING if f"`{pattern}`" not in page] == []
