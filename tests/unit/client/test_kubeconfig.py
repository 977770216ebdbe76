"""Kubeconfig files: which are read, how they merge, what flags override (K4)."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from client import kubeconfig
from client.kubeconfig import ConfigError, Impersonation, Overrides


def write(path: Path, **parts: Any) -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"https://{path.stem}:6443"}}],
        "users": [{"name": "u", "user": {"token": path.stem}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": path.stem}}],
        "current-context": "x",
    } | parts
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_explicit_file_wins_over_the_environment(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one"), write(tmp_path / "two")
    config = kubeconfig.load(str(one), environ={"KUBECONFIG": str(two)})
    assert (config.server, config.token, config.namespace) == ("https://one:6443", "one", "one")


def test_of_a_list_of_files_the_first_to_name_something_wins(tmp_path: Path) -> None:
    one = write(tmp_path / "one", contexts=[], **{"current-context": ""})
    two = write(tmp_path / "two")
    config = kubeconfig.load(environ={"KUBECONFIG": f"{tmp_path / 'missing'}:{one}:{two}"})
    assert (config.server, config.token) == ("https://one:6443", "one")  # cluster and user of the first file
    assert config.namespace == "two"  # the context only the second has


def test_the_default_is_in_the_home_folder(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config")
    assert kubeconfig.load(environ={"HOME": str(tmp_path)}).server == "https://config:6443"


def test_the_first_default_that_exists_is_taken(tmp_path: Path) -> None:
    local = write(tmp_path / "local")
    config = kubeconfig.load(environ={}, defaults=[tmp_path / "missing", local, write(tmp_path / "other")])
    assert config.source == str(local)


def test_paths_in_a_file_are_relative_to_that_file(tmp_path: Path) -> None:
    users = [{"name": "u", "user": {"client-certificate": "pki/a.crt", "client-key": "/abs/a.key"}}]
    config = kubeconfig.load(str(write(tmp_path / "one", users=users)))
    assert config.client_certificate == str(tmp_path / "pki" / "a.crt")
    assert config.client_key == "/abs/a.key"


def test_inline_data_is_decoded(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    clusters = [{"name": "c", "cluster": {"server": "https://s", "certificate-authority-data": data}}]
    assert kubeconfig.load(str(write(tmp_path / "one", clusters=clusters))).certificate_authority_data == b"PEM"


def test_flags_override_the_file(tmp_path: Path) -> None:
    overrides = Overrides(server="http://other", namespace="ns", token="t", impersonate=Impersonation("jane"))
    config = kubeconfig.load(str(write(tmp_path / "one")), overrides=overrides)
    assert (config.server, config.namespace, config.token, config.impersonate.user) == (
        "http://other",
        "ns",
        "t",
        "jane",
    )


def test_a_login_given_by_flag_replaces_the_files_token(tmp_path: Path) -> None:
    config = kubeconfig.load(str(write(tmp_path / "one")), overrides=Overrides(username="a", password="b"))
    assert (config.token, config.username) == ("", "a")


def test_a_server_flag_alone_is_enough() -> None:
    assert kubeconfig.load(environ={}, defaults=[], overrides=Overrides(server="http://s")).server == "http://s"


def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc")
    (tmp_path / "namespace").write_text("kube-system\n")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    config = kubeconfig.in_cluster(environ, tmp_path)
    assert (config.server, config.namespace) == ("https://[fd00::1]:443", "kube-system")
    assert config.token_file == str(tmp_path / "token")


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        ({}, {"context": "nope"}, 'context "nope" does not exist'),
        ({"clusters": []}, {}, 'cluster "c" does not exist'),
        ({"users": []}, {}, 'auth info "u" does not exist'),
        ({"kind": "Pod"}, {}, "it is not a kubeconfig"),
        ({"users": [{"name": "u", "user": {"client-key-data": "%%"}}]}, {}, "client-key-data is not base64"),
        ({"users": [{"user": {}}]}, {}, "an entry of users has no name"),
        ({"users": [{"name": "u", "user": {"exec": {"args": []}}}]}, {}, "exec plugin: command is missing"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, parts: Any, options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        kubeconfig.load(str(write(tmp_path / "one", **parts)), **options)


def test_a_missing_explicit_file_is_an_error() -> None:
    with pytest.raises(ConfigError, match="stat /nope: no such file or directory"):
        kubeconfig.load("/nope")


def test_a_broken_file_is_named_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_text("a: [b\nc: d")
    with pytest.raises(ConfigError) as caught:
        kubeconfig.load(str(path))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_say_nothing_mean_the_server_that_kubectl_takes_then(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    assert kubeconfig.load(str(empty), environ={}).server == "http://localhost:8080"
    assert kubeconfig.load(environ={"KUBECONFIG": str(empty)}).server == "http://localhost:8080"
    overrides = kubeconfig.Overrides(server="https://api.test")
    assert kubeconfig.load(str(empty), environ={}, overrides=overrides).server == "https://api.test"


def test_without_anything_it_says_so() -> None:
    with pytest.raises(kubeconfig.NoConfiguration):
        kubeconfig.load(environ={}, defaults=[])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"clusters": 5}, "clusters must be a list"),
        ({"current-context": ["x"]}, "current-context must be a string"),
        ({"contexts": [5]}, "an entry of contexts has no name"),
        ({"contexts": [{"name": ["x"], "context": {}}]}, "an entry of contexts has no name"),
        ({"contexts": [{"name": "x", "context": "c"}]}, r"contexts\[0\].context must be a mapping"),
        ({"clusters": [{"name": "c", "cluster": {"server": 5}}]}, r"clusters\[0\].cluster.server must be a string"),
        ({"users": [{"name": "u", "user": {"token": 12345}}]}, r"users\[0\].user.token must be a string"),
        ({"users": [{"name": "u", "user": {"as-groups": [1]}}]}, r"user.as-groups\[0\] must be a string"),
        ({"users": [{"name": "u", "user": {"exec": "aws"}}]}, r"users\[0\].user.exec must be a mapping"),
        ({"users": [{"name": "u", "user": {"exec": {"env": [{"name": "A"}]}}}]}, r"exec.env\[0\] must have a name"),
    ],
)
def test_a_value_of_another_type_is_refused_by_its_field(tmp_path: Path, parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f'error loading config file ".*": .*{message}'):
        kubeconfig.load(str(write(tmp_path / "one", **parts)))


def test_fields_that_are_unknown_or_null_are_let_be(tmp_path: Path) -> None:
    users = [{"name": "u", "user": {"token": "t", "username": None, "auth-provider": {"name": "x"}}}]
    config = kubeconfig.load(str(write(tmp_path / "one", users=users, preferences={"colors": True})))
    assert (config.token, config.username) == ("t", "")


@pytest.mark.parametrize("server", ["https://127.0.0.1:99999", "http://[::1", "https://a:b"])
def test_a_server_that_is_no_url_is_refused(tmp_path: Path, server: str) -> None:
    with pytest.raises(ConfigError, match="is no URL: "):
        kubeconfig.load(str(write(tmp_path / "one")), overrides=Overrides(server=server))
