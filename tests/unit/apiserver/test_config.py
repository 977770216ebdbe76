"""Flags: upstream's names, one sentence for each thing that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver import config
from apiserver.admission import plugins


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).touch()
    return [
        f"--tls-cert-file={tmp_path}/tls.crt",
        f"--tls-private-key-file={tmp_path}/tls.key",
        "--etcd-servers=http://127.0.0.1:2379",
    ]


def test_flags_become_a_config(files: list[str]) -> None:
    parsed = config.parse(
        [*files, "--authorization-mode=RBAC,AlwaysDeny", "--request-timeout=1m30s", "--anonymous-auth=false", "-v=4"]
    )
    assert parsed.authorization_mode == ("RBAC", "AlwaysDeny")
    assert parsed.request_timeout == 90.0
    assert parsed.anonymous_auth is False
    assert parsed.v == 4


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--etcd-cafile=/nowhere", "--etcd-cafile: cannot read /nowhere"),
        ("--kubelet-client-key=/nowhere", "--kubelet-client-key: cannot read /nowhere"),
        ("--authorization-mode=Magic", "'Magic' is none of"),
        ("--disable-admission-plugins=Magic", "admission plugin 'Magic' is none of"),
        ("--secure-port=70000", "70000 is not a port"),
        ("--workers=0", "at least one"),
        ("--bind-address=here", "'here' is not an IP address"),
        ("--service-cluster-ip-range=x", "--service-cluster-ip-range"),
        ("--anonymous-auth=maybe", "'maybe' is neither true nor false"),
        ("--min-request-timeout=soon", "'soon' is not a duration"),
    ],
)
def test_what_is_wrong_is_said(files: list[str], flag: str, message: str) -> None:
    with pytest.raises(config.ConfigError, match=message):
        config.parse([*files, flag])


def test_tls_is_not_optional() -> None:
    with pytest.raises(config.ConfigError, match="required"):
        config.parse(["--etcd-servers=http://127.0.0.1:2379"])


def test_disabled_plugins_are_left_out_in_order(files: list[str]) -> None:
    parsed = config.parse([*files, "--disable-admission-plugins=Priority"])
    expected = tuple(name for name in plugins.NAMES if name != "Priority")
    assert parsed.admission_plugins == expected


@pytest.mark.parametrize(
    ("addresses", "advertised"), [("0.0.0.0", ""), ("127.0.0.1", ""), ("127.0.0.1,10.0.0.5", "10.0.0.5")]
)
def test_the_cluster_is_told_an_address_that_it_can_reach(files: list[str], addresses: str, advertised: str) -> None:
    assert config.parse([*files, f"--bind-address={addresses}"]).advertised == advertised
