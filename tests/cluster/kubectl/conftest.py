"""Real kubectls on the one local cluster: today's and 1.20, each in a namespace of its own for every test."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import kubectls
from tests.cluster.local import LocalCluster, Ran

COMMAND_SECONDS = 90.0


@dataclass(frozen=True)
class Kubectl:
    """One version of kubectl, in one namespace, with a folder for files. What it prints is asserted by the tests."""

    program: Path
    is_old: bool
    cluster: LocalCluster
    namespace: str
    folder: Path
    home: Path  # where it caches discovery: one for all tests

    def __call__(self, *words: str, stdin: str | None = None, editor: str = "") -> str:
        """What it printed on stdout. A failure fails the test."""
        ran = self.ran(*words, stdin=stdin, editor=editor)
        assert ran.code == 0, f"kubectl {' '.join(words)}: {ran.out}{ran.err}"
        return ran.out

    def ran(self, *words: str, stdin: str | None = None, editor: str = "") -> Ran:
        done = subprocess.run(
            self.command(*words),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
            cwd=self.folder,
            env=os.environ | {"HOME": str(self.home), "KUBE_EDITOR": editor, "NO_COLOR": "1", "TERM": "dumb"},
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def command(self, *words: str) -> list[str]:
        own = ["--kubeconfig", str(self.cluster.kubeconfig), "--namespace", self.namespace]
        return [str(self.program), *words[:1], *own, *words[1:]]

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def editor(self, expression: str) -> str:
        """An editor that runs one sed expression on what it is given."""
        path = self.folder / f"edit-{uuid.uuid4().hex[:6]}"
        path.write_text(f"#!/bin/sh\nexec sed -i '{expression}' \"$1\"\n")
        path.chmod(0o755)
        return str(path)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(params=["new", "old"])
def kubectl(request: pytest.FixtureRequest, cluster: LocalCluster, tmp_path: Path, home: Path) -> Iterator[Kubectl]:
    """The same test with each version."""
    yield from _in_namespace(request.param == "old", cluster, tmp_path, home / request.param)


@pytest.fixture
def new_kubectl(cluster: LocalCluster, tmp_path: Path, home: Path) -> Iterator[Kubectl]:
    """Today's, for what the old one does not have."""
    yield from _in_namespace(False, cluster, tmp_path, home / "new")


def _in_namespace(is_old: bool, cluster: LocalCluster, folder: Path, home: Path) -> Iterator[Kubectl]:
    try:
        program = kubectls.old() if is_old else kubectls.NEW
    except kubectls.Unavailable as reason:
        pytest.skip(f"kubectl 1.20 cannot be had here: {reason}")
    namespace = f"k-{uuid.uuid4().hex[:6]}"
    cluster.kubectl("create", "namespace", namespace)
    home.mkdir(exist_ok=True)
    yield Kubectl(program, is_old, cluster, namespace, folder, home)
    cluster.kubectl("delete", "namespace", namespace, "--wait=false")
