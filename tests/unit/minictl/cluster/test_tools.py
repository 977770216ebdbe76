from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from minictl.cluster import apt, tools

BUNDLE = tools.Bundle("etcd", "etcd-server", ("etcd",))


def place_program(folder: Path, name: str, content: bytes = b"#!/bin/sh\necho hi\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def places(tmp_path: Path) -> tools.Places:
    return tools.Places((str(tmp_path / "bin"),), (str(tmp_path / "cni"),), tmp_path / "cache")


def test_a_tool_on_the_path_is_taken_and_nothing_is_fetched(tmp_path: Path) -> None:
    program = place_program(tmp_path / "bin", "etcd")
    assert tools.find(["etcd"], places=places(tmp_path))["etcd"] == program
    assert not (tmp_path / "cache").exists()


def test_a_cached_tool_is_taken_when_the_path_has_none(tmp_path: Path) -> None:
    here = places(tmp_path)
    program = place_program(here.tools / "etcd" / "bin", "etcd")
    assert tools.find(["etcd"], places=here)["etcd"] == program


def test_the_warning_of_a_cached_tool_is_given_each_time(tmp_path: Path) -> None:
    here = places(tmp_path)
    place_program(here.tools / "etcd" / "bin", "etcd")
    (here.tools / "etcd" / "warning").write_text("old release\n")
    assert tools.find(["etcd"], places=here).warnings == ("old release",)


def test_a_folder_with_only_some_of_the_programs_is_passed_over(tmp_path: Path) -> None:
    place_program(tmp_path / "bin", "containerd")
    here = places(tmp_path)
    for name in ("containerd", "containerd-shim-runc-v2", "ctr"):
        place_program(here.tools / "containerd" / "bin", name)
    found = tools.find(["ctr"], places=here)
    assert found["ctr"].parent == found["containerd"].parent == here.tools / "containerd" / "bin"


def test_plugins_are_found_as_a_folder(tmp_path: Path) -> None:
    for name in ("bridge", "host-local", "loopback", "portmap"):
        place_program(tmp_path / "cni", name)
    assert tools.find(["cni"], places=places(tmp_path))["cni"] == tmp_path / "cni"


def test_a_script_is_no_static_busybox(tmp_path: Path) -> None:
    program = place_program(tmp_path / "bin", "busybox")
    assert not tools.is_static(program)


def test_without_apt_the_error_names_the_tools_and_the_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(tools.ToolsMissing) as raised:
        tools.find(["etcd", "cni"], places=places(tmp_path))
    assert "missing tools: etcd, cni" in str(raised.value)
    assert "apt-get install etcd-server containernetworking-plugins" in str(raised.value)


def test_a_failed_fetch_leaves_nothing_that_looks_like_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    here = places(tmp_path)
    with pytest.raises(tools.ToolsMissing):
        tools.find(["runc"], places=here)
    assert [path.name for path in here.tools.iterdir()] == [".lock"]


def test_the_environment_adds_fetched_folders_and_keeps_the_order_of_the_rest(tmp_path: Path) -> None:
    found = tools.Tools({"etcd": tmp_path / "etcd", "runc": Path("/usr/bin/runc"), "cni": tmp_path / "cni"})
    path = found.environment({"PATH": "/home/me/bin:/usr/bin"})["PATH"].split(":")
    assert path[:3] == [str(tmp_path), "/home/me/bin", "/usr/bin"]
    assert "/usr/sbin" in path


def test_two_runs_at_once_take_turns(tmp_path: Path) -> None:
    order: list[str] = []
    waits = threading.Event()

    def second() -> None:
        with tools.lock(tmp_path, lambda _: waits.set()):
            order.append("second")

    with tools.lock(tmp_path, order.append):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_a_multicall_program_gets_a_wrapper_that_still_works_when_the_folder_moves(tmp_path: Path) -> None:
    bundle = tools.Bundle("iptables", "iptables", ("iptables", "iptables-save"), multicall="multi")
    script = b'#!/bin/sh\necho "$@" "$(basename "$LD_LIBRARY_PATH")" "$(basename "$XTABLES_LIBDIR")"\n'
    place_program(tmp_path / "new" / "root" / "usr" / "sbin", "multi", script)
    place_program(tmp_path / "new" / "root" / "usr" / "lib" / "arch", "libx.so.1", b"")
    place_program(tmp_path / "new" / "root" / "usr" / "lib" / "arch" / "xtables", "libxt_a.so", b"")
    tools.expose(bundle, tmp_path / "new")
    (tmp_path / "new").rename(tmp_path / "moved")
    done = subprocess.run(
        [tmp_path / "moved" / "bin" / "iptables-save", "-t", "nat"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "iptables-save -t nat arch xtables\n"


def test_a_program_without_libraries_is_linked(tmp_path: Path) -> None:
    place_program(tmp_path / "new" / "root" / "usr" / "bin", "etcd")
    tools.expose(BUNDLE, tmp_path / "new")
    (tmp_path / "new").rename(tmp_path / "moved")
    assert subprocess.check_output([tmp_path / "moved" / "bin" / "etcd"]) == b"hi\n"


def test_an_init_script_is_not_taken_for_the_program(tmp_path: Path) -> None:
    place_program(tmp_path / "new" / "root" / "etc" / "init.d", "etcd", b"#!/bin/sh\nexit 1\n")
    place_program(tmp_path / "new" / "root" / "usr" / "bin", "etcd")
    tools.expose(BUNDLE, tmp_path / "new")
    assert subprocess.check_output([tmp_path / "new" / "bin" / "etcd"]) == b"hi\n"


def test_a_package_without_its_program_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "new" / "root").mkdir(parents=True)
    with pytest.raises(apt.AptError, match="no program etcd"):
        tools.expose(BUNDLE, tmp_path / "new")
