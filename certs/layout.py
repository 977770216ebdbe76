"""Where a cluster's keys, certificates and kubeconfigs are: names only, nothing heavy to import."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from certs.files import Pair


@dataclass(frozen=True)
class ClusterPki:
    """Where everything is. The files of a name exist once `make_cluster_pki` returned."""

    folder: Path

    def cert(self, stem: str) -> Path:
        return self.folder / f"{stem}.crt"

    def key(self, stem: str) -> Path:
        return self.folder / f"{stem}.key"

    def kubeconfig(self, stem: str) -> Path:
        """`admin`, `controller-manager`, `scheduler` or `kubelet-NODE`."""
        return self.folder / f"{stem}.conf"

    def pair(self, stem: str) -> Pair:
        return Pair(self.cert(stem).read_bytes(), self.key(stem).read_bytes())

    @property
    def ca(self) -> Path:
        return self.cert("ca")

    @property
    def etcd_ca(self) -> Path:
        return self.cert("etcd-ca")

    @property
    def sa_key(self) -> Path:
        return self.folder / "sa.key"

    @property
    def sa_pub(self) -> Path:
        return self.folder / "sa.pub"
