"""The configuration of a node's own containerd. Pure: traits in, TOML out.

Each value differs from containerd's default for one reason: nodes on one machine must not meet. What is shared by all
containerds of a machine (sockets, state, snapshots, CNI configuration, network namespaces) gets a place of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

# Inside the node's mount namespace, on its own tmpfs: short, conventional, gone with the node.
STATE = Path("/run/containerd")
SOCKET = STATE / "containerd.sock"


@dataclass(frozen=True)
class Traits:
    """What the machine allows."""

    may_lower_oom_score: bool  # CAP_SYS_RESOURCE; without it runc cannot set the sandbox's oom_score_adj
    overlay: bool  # overlayfs works on the folder's file system
    apparmor: bool = False


@dataclass(frozen=True)
class Places:
    """The node's folders and programs."""

    root: Path
    cni_conf: Path
    cni_bin: Path
    registries: Path  # certs.d: mirrors and their certificates
    runc: Path


def config(places: Places, traits: Traits, sandbox_image: str) -> str:
    """containerd's `config.toml` (version 2)."""
    return f"""version = 2
root = {_quoted(places.root)}
state = {_quoted(STATE)}
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", \
"io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.opt"]

[grpc]
  address = {_quoted(SOCKET)}

[ttrpc]
  address = {_quoted(f"{SOCKET}.ttrpc")}

[debug]
  level = "info"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = {_quoted(sandbox_image)}
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = {_boolean(not traits.may_lower_oom_score)}
  disable_apparmor = {_boolean(not traits.apparmor)}
  max_container_log_line_size = 16384

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = {_quoted(places.cni_bin)}
  conf_dir = {_quoted(places.cni_conf)}

[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = {_quoted(places.registries)}

[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = {_quoted("overlayfs" if traits.overlay else "native")}
  default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  BinaryName = {_quoted(places.runc)}
  SystemdCgroup = false
"""


def _quoted(value: object) -> str:
    """A TOML basic string; JSON's escapes are a subset of TOML's."""
    return json.dumps(str(value), ensure_ascii=False)


def _boolean(value: bool) -> str:
    return "true" if value else "false"
