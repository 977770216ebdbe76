"""Making, reading and changing objects."""

from __future__ import annotations

import json

import pytest

from tests.cluster.kubectl.conftest import Kubectl

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg, labels: {app: x}}\ndata: {a: '%s'}\n"


@pytest.fixture
def file(kubectl: Kubectl) -> str:
    return kubectl.write("cfg.yaml", CONFIG % "1")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("role r --verb=get --resource=pods", "role.rbac.authorization.k8s.io/r created"),
        ("rolebinding b --role=r --user=u", "rolebinding.rbac.authorization.k8s.io/b created"),
        ("secret generic s --from-literal=a=b", "secret/s created"),
        ("secret docker-registry d --docker-username=u --docker-password=p", "secret/d created"),
        ("configmap c --from-literal=a=b", "configmap/c created"),
        ("quota q --hard=pods=30,requests.cpu=2", "resourcequota/q created"),
        ("job j --image=busybox -- true", "job.batch/j created"),
        ("ingress i --rule=foo.com/bar=svc:8080", "ingress.networking.k8s.io/i created"),
        ("serviceaccount sa", "serviceaccount/sa created"),
        ("service clusterip sc --tcp=80:8080", "service/sc created"),
        ("service nodeport sn --tcp=80", "service/sn created"),
        ("service externalname se --external-name=example.com", "service/se created"),
        ("deployment d --image=nginx --replicas=2 --port=80", "deployment.apps/d created"),
    ],
)
def test_create_makes_each_kind(kubectl: Kubectl, words: str, answer: str) -> None:
    assert kubectl("create", *words.split()) == f"{answer}\n"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("cronjob cj --image=busybox --schedule=@hourly -- date", "cronjob.batch/cj created"),
        ("pdb p --selector=app=web --min-available=1", "poddisruptionbudget.policy/p created"),
    ],
)
def test_create_makes_what_the_old_one_has_only_in_removed_versions(
    new_kubectl: Kubectl, words: str, answer: str
) -> None:
    assert new_kubectl("create", *words.split()) == f"{answer}\n"


def test_create_makes_what_has_no_namespace(kubectl: Kubectl) -> None:
    name = kubectl.namespace
    for words, kind in (
        (f"clusterrole {name} --verb=get,list --resource=nodes", "clusterrole.rbac.authorization.k8s.io"),
        (f"clusterrolebinding {name} --clusterrole={name} --group=g", "clusterrolebinding.rbac.authorization.k8s.io"),
        (f"priorityclass {name} --value=10", "priorityclass.scheduling.k8s.io"),
    ):
        assert kubectl("create", *words.split()) == f"{kind}/{name} created\n"
        assert "deleted" in kubectl("delete", words.split()[0], name)


def test_create_token_prints_one(new_kubectl: Kubectl) -> None:
    new_kubectl("create", "serviceaccount", "robot")
    token = new_kubectl("create", "token", "robot").strip()
    assert token.count(".") == 2


def test_get_prints_every_form(kubectl: Kubectl, file: str) -> None:
    assert kubectl("create", "-f", file) == "configmap/cfg created\n"
    get = ("get", "configmap", "cfg", "-o")
    assert json.loads(kubectl(*get, "json"))["data"] == {"a": "1"}
    assert kubectl(*get, "yaml").startswith('apiVersion: v1\ndata:\n  a: "1"\nkind: ConfigMap\nmetadata:\n')
    assert kubectl(*get, "name") == "configmap/cfg\n"
    assert kubectl(*get, "jsonpath={.data.a}") == "1"
    assert kubectl(*get, "go-template={{.data.a}}") == "1"
    assert kubectl(*get, "custom-columns=N:.metadata.name,A:.data.a") == "N     A\ncfg   1\n"
    head, row = kubectl(*get, "wide").splitlines()
    assert (head.split(), row.split()[:2]) == (["NAME", "DATA", "AGE"], ["cfg", "1"])
    assert kubectl("get", "cm", "-l", "app in (x)", "-o", "name") == "configmap/cfg\n"
    assert kubectl("get", "cm", "--field-selector=metadata.name=cfg", "-o", "name") == "configmap/cfg\n"
    assert kubectl.namespace in kubectl("get", "cm", "-A")
    assert kubectl.ran("get", "cm", "none").err == 'Error from server (NotFound): configmaps "none" not found\n'


def test_apply_creates_changes_and_tells_when_nothing_changed(kubectl: Kubectl, file: str) -> None:
    assert kubectl("apply", "-f", file) == "configmap/cfg created\n"
    assert kubectl("apply", "-f", file) == "configmap/cfg unchanged\n"
    kubectl.write("cfg.yaml", CONFIG % "2")
    diff = kubectl.ran("diff", "-f", file)
    assert diff.code == 1
    assert '-  a: "1"\n+  a: "2"\n' in diff.out
    assert kubectl("apply", "-f", file) == "configmap/cfg configured\n"
    assert kubectl.ran("diff", "-f", file).code == 0
    assert 'a: "2"' in kubectl("apply", "view-last-applied", "configmap/cfg")
    edited = kubectl("apply", "edit-last-applied", "configmap/cfg", editor=kubectl.editor('s/a: "2"/a: "5"/'))
    assert edited == "configmap/cfg edited\n"
    assert 'a: "5"' in kubectl("apply", "view-last-applied", "configmap/cfg")
    assert kubectl("apply", "-f", file, "--dry-run=server") == "configmap/cfg configured (server dry run)\n"
    assert 'a: "5"' in kubectl("apply", "view-last-applied", "configmap/cfg")


def test_apply_prunes_what_is_no_longer_named(new_kubectl: Kubectl) -> None:
    both = CONFIG % "1" + "---\n" + (CONFIG % "1").replace("cfg", "other")
    file = new_kubectl.write("both.yaml", both)
    new_kubectl("apply", "-f", file)
    new_kubectl.write("both.yaml", CONFIG % "1")
    pruned = new_kubectl("apply", "-f", file, "--prune", "-l", "app=x", "--prune-allowlist=core/v1/ConfigMap")
    assert pruned.splitlines() == ["configmap/cfg unchanged", "configmap/other pruned"]


def test_apply_on_the_servers_side_tells_conflicts_and_takes_over(kubectl: Kubectl, file: str) -> None:
    apply = ("apply", "--server-side", "-f", file)
    assert kubectl(*apply) == "configmap/cfg serverside-applied\n"
    kubectl.write("cfg.yaml", CONFIG % "2")
    refused = kubectl.ran(*apply, "--field-manager=other")
    assert refused.code == 1
    assert 'conflict with "kubectl": .data.a' in refused.err
    assert kubectl(*apply, "--field-manager=other", "--force-conflicts") == "configmap/cfg serverside-applied\n"
    assert kubectl("get", "cm", "cfg", "-o", "jsonpath={.data.a}") == "2"


def test_patch_has_three_types(kubectl: Kubectl, file: str) -> None:
    kubectl("create", "-f", file)
    for kind, body in (
        ("strategic", '{"data":{"b":"1"}}'),
        ("merge", '{"data":{"c":"2"}}'),
        ("json", '[{"op":"add","path":"/data/d","value":"3"}]'),
    ):
        assert kubectl("patch", "cm", "cfg", f"--type={kind}", "-p", body) == "configmap/cfg patched\n"
    assert json.loads(kubectl("get", "cm", "cfg", "-o", "json"))["data"] == {"a": "1", "b": "1", "c": "2", "d": "3"}
    assert kubectl("patch", "cm", "cfg", "-p", '{"data":{"b":"1"}}') == "configmap/cfg patched (no change)\n"


def test_patch_reaches_subresources(new_kubectl: Kubectl) -> None:
    new_kubectl("create", "deployment", "d", "--image=nginx", "--replicas=0")
    body = '{"status":{"collisionCount":3}}'
    assert new_kubectl("patch", "deploy", "d", "--subresource=status", "--type=merge", "-p", body) == (
        "deployment.apps/d patched\n"
    )
    scaled = new_kubectl("patch", "deploy", "d", "--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":1}}')
    assert scaled == "scale.autoscaling/d patched\n"
    assert new_kubectl("get", "deploy", "d", "-o", "jsonpath={.spec.replicas} {.status.collisionCount}") == "1 3"


def test_replace_puts_the_whole_object(kubectl: Kubectl, file: str) -> None:
    kubectl("create", "-f", file)
    uid = kubectl("get", "cm", "cfg", "-o", "jsonpath={.metadata.uid}")
    kubectl.write("cfg.yaml", CONFIG % "9")
    assert kubectl("replace", "-f", file) == "configmap/cfg replaced\n"
    assert kubectl("get", "cm", "cfg", "-o", "jsonpath={.metadata.uid}") == uid
    forced = kubectl("replace", "--force", "-f", file)
    assert forced.splitlines()[-1] == "configmap/cfg replaced"
    assert kubectl("get", "cm", "cfg", "-o", "jsonpath={.metadata.uid}") != uid


def test_edit_label_and_annotate_change_objects(kubectl: Kubectl, file: str) -> None:
    kubectl("create", "-f", file)
    assert kubectl("edit", "cm/cfg", editor=kubectl.editor('s/a: "1"/a: "7"/')) == "configmap/cfg edited\n"
    assert kubectl("get", "cm", "cfg", "-o", "jsonpath={.data.a}") == "7"
    assert kubectl("label", "cm", "cfg", "tier=gold") == "configmap/cfg labeled\n"
    refused = kubectl.ran("label", "cm", "cfg", "tier=silver")
    assert refused.err == "error: 'tier' already has a value (gold), and --overwrite is false\n"
    assert kubectl("annotate", "cm", "cfg", "note=one", "--overwrite") == "configmap/cfg annotated\n"
    kubectl("label", "cm", "cfg", "tier-")
    assert json.loads(kubectl("get", "cm", "cfg", "-o", "json"))["metadata"]["labels"] == {"app": "x"}


def test_a_kustomization_is_applied(kubectl: Kubectl) -> None:
    folder = kubectl.folder / "kz"
    folder.mkdir()
    (folder / "cfg.yaml").write_text(CONFIG % "1")
    (folder / "kustomization.yaml").write_text("resources: [cfg.yaml]\nnamePrefix: pre-\n")
    assert kubectl("apply", "-k", str(folder)) == "configmap/pre-cfg created\n"
    assert "pre-cfg" in kubectl("kustomize", str(folder))
    assert kubectl("delete", "-k", str(folder)).startswith('configmap "pre-cfg" deleted')


def test_a_mistake_in_a_manifest_is_told_with_its_field(kubectl: Kubectl) -> None:
    bad = kubectl.write("bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndat: {}\n")
    refused = kubectl.ran("create", "-f", bad)
    assert refused.code == 1
    assert 'unknown field "dat"' in refused.err
