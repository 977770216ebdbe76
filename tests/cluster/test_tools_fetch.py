"""The distribution's packages, for real: where apt or its mirror is not there, the reason is said."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from minictl.cluster import apt, tools


@pytest.mark.skipif(not shutil.which("apt-get"), reason="no apt-get on this machine")
def test_tools_are_fetched_into_the_cache_and_run(tmp_path: Path) -> None:
    here = tools.Places((), (), tmp_path)
    said: list[str] = []
    try:
        found = tools.find(["runc", "iptables", "busybox"], progress=said.append, places=here)
    except tools.ToolsMissing as error:
        pytest.skip(f"the package mirror cannot be reached: {error}")
    assert found["runc"].is_relative_to(tmp_path)
    assert "runc version" in subprocess.check_output([found["runc"], "--version"], text=True)
    assert "iptables v" in subprocess.check_output([found["iptables"], "--version"], text=True)
    assert tools.is_static(found["busybox"])
    assert any("downloading" in line for line in said)
    said.clear()
    assert tools.find(["runc"], progress=said.append, places=here)["runc"] == found["runc"]
    assert said == []


@pytest.mark.skipif(not apt.is_available(), reason="no apt on this machine")
def test_an_unknown_package_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(apt.AptError, match="armillary-no-such-package"):
        apt.Apt(tmp_path, lambda _: None).fetch(["armillary-no-such-package"], lambda _: False, tmp_path / "debs")
