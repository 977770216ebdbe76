"""What component tests share: one apiserver for all of them, and a namespace for each."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests import harness, kubectls
from tests.component import tools


@pytest.fixture(scope="session")
def server() -> Iterator[harness.Server]:
    """An apiserver that no test may stop, reconfigure or fill beyond its own namespace."""
    with harness.Server() as server:
        yield server


@pytest.fixture
def namespace(server: harness.Server) -> Iterator[str]:
    with harness.namespace(server, f"test-{uuid.uuid4().hex[:8]}") as name:
        yield name


@pytest.fixture
def admin(server: harness.Server) -> Iterator[httpx.Client]:
    with server.admin() as client:
        yield client


@pytest.fixture
def minictl(server: harness.Server, namespace: str) -> tools.Tool:
    def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(tools.MINICTL), "-n", namespace, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=tools.environment(server),
        )

    return run


@pytest.fixture
def kubectl(server: harness.Server, namespace: str) -> tools.Tool:
    def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return server.try_kubectl("-n", namespace, *arguments, stdin=stdin)

    return run


@pytest.fixture(scope="session")
def old_kubectl(server: harness.Server, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """kubectl 1.20: a function from its arguments to what it printed."""
    try:
        program = kubectls.old()
    except kubectls.Unavailable as error:
        pytest.skip(f"no kubectl 1.20 here: {error}")
    home = tmp_path_factory.mktemp("home")

    def run(*arguments: str, stdin: str = "", fails: bool = False) -> str:
        done = subprocess.run(
            [str(program), "--kubeconfig", str(server.pki.kubeconfig("admin")), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={"HOME": str(home)},
        )
        assert (done.returncode != 0) == fails, done.stderr
        return done.stderr if fails else done.stdout

    return run
