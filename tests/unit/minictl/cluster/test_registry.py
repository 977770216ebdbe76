from __future__ import annotations

import json
import tomllib
from pathlib import Path

from minictl.cluster import registry


def test_a_mirror_alone_names_itself_as_the_server_so_nothing_goes_to_the_internet(tmp_path: Path) -> None:
    registry.write_hosts(tmp_path, "172.30.0.254:5000")
    hosts = tomllib.loads((tmp_path / "docker.io" / "hosts.toml").read_text())
    assert hosts["server"] == "http://172.30.0.254:5000"
    assert hosts["host"]["http://172.30.0.254:5000"]["capabilities"] == ["pull", "resolve"]


def test_a_cache_of_the_real_registry_falls_back_to_it(tmp_path: Path) -> None:
    registry.write_hosts(tmp_path, "172.30.0.254:5000", upstream=registry.UPSTREAM)
    assert tomllib.loads((tmp_path / "docker.io" / "hosts.toml").read_text())["server"] == registry.UPSTREAM
    assert tomllib.loads((tmp_path / "localhost" / "hosts.toml").read_text())["server"] == "http://172.30.0.254:5000"


def test_only_a_cache_has_an_upstream(tmp_path: Path) -> None:
    assert "proxy" not in json.loads(registry.configuration(tmp_path, "127.0.0.1:5000"))
    cache = json.loads(registry.configuration(tmp_path, "127.0.0.1:5000", upstream=registry.UPSTREAM))
    assert cache["proxy"] == {"remoteurl": registry.UPSTREAM}
