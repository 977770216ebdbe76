"""What kubectl tells of the cluster itself: discovery, documentation, rights, certificates."""

from __future__ import annotations

import base64
import json

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.cluster.kubectl.conftest import Kubectl


def test_what_there_is_is_listed(kubectl: Kubectl) -> None:
    rows = [line.split() for line in kubectl("api-resources").splitlines()]
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in rows
    assert {"v1", "apps/v1", "apiextensions.k8s.io/v1"} <= set(kubectl("api-versions").split())
    assert json.loads(kubectl("get", "--raw", "/version"))["major"] == "1"
    assert "Server Version" in kubectl("version")
    assert "is running at https://" in kubectl("cluster-info")


def test_a_dump_holds_nodes_and_logs(kubectl: Kubectl) -> None:
    folder = kubectl.folder / "dump"
    kubectl("cluster-info", "dump", f"--output-directory={folder}")
    assert json.loads((folder / "nodes.json").read_text())["kind"] == "NodeList"


def test_kinds_are_explained(kubectl: Kubectl) -> None:
    assert "Pod is a collection of containers that can run on a host." in " ".join(kubectl("explain", "pod").split())
    shown = kubectl("explain", "deployment.spec.strategy", "--recursive")
    assert "rollingUpdate" in shown and "maxSurge" in shown


def test_rights_are_asked_and_reconciled(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    denied = kubectl.ran("auth", "can-i", "create", "pods", "--as=nobody")
    assert (denied.code, denied.out) == (1, "no\n")
    assert "*.*" in kubectl("auth", "can-i", "--list")
    rules = "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n"
    metadata = f"metadata: {{name: r, namespace: {kubectl.namespace}}}\n"
    head = f"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{metadata}"
    file = kubectl.write("role.yaml", head + rules)
    assert kubectl("auth", "reconcile", "-f", file).startswith("role.rbac.authorization.k8s.io/r reconciled")
    assert kubectl("get", "role", "r", "-o", "jsonpath={.rules[0].verbs[0]}") == "get"


def test_whoami_tells_the_certificates_user(new_kubectl: Kubectl) -> None:
    assert "kubernetes-admin" in new_kubectl("auth", "whoami")


def test_a_signing_request_is_approved_and_denied(kubectl: Kubectl) -> None:
    for verb, condition in (("approve", "Approved"), ("deny", "Denied")):
        name = f"{kubectl.namespace}-{verb}"
        kubectl("create", "-f", kubectl.write(f"{verb}.yaml", signing_request(name)))
        said = kubectl("certificate", verb, name)
        assert (
            said
            == f"certificatesigningrequest.certificates.k8s.io/{name} {'approved' if verb == 'approve' else 'denied'}\n"
        )
        assert condition in kubectl("get", "csr", name)
        kubectl("delete", "csr", name)


def signing_request(name: str) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dev")])
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    encoded = base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()
    spec = {"request": encoded, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
    head = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name}}
    return json.dumps(head | {"spec": spec})


def test_top_says_that_there_are_no_metrics(kubectl: Kubectl) -> None:
    assert kubectl.ran("top", "nodes").err == "error: Metrics API not available\n"
