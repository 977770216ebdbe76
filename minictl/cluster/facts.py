"""What a plan is made from besides the settings: the programs of this machine, its traits, where images come from.

Observed anew at every `up`; equal machines give equal facts, so that a second `up` finds nothing to do.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Mapping
from pathlib import Path

from minictl.cluster import images, plan, registry, traits
from minictl.cluster.planning import Facts, Programs
from minictl.cluster.settings import CONTAINERD, Settings
from minictl.cluster.tools import Tools

# Not the caller's PATH: the plan, and so what runs, must not depend on the shell that `up` is typed in
BASE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
TOOLS_OF = {
    CONTAINERD: ("etcd", "etcdctl", "containerd", "runc", "cni", "iptables", "docker-registry"),
    "hollow": ("etcd", "etcdctl"),
}


def gather(settings: Settings, found: Tools) -> Facts:
    """For the plan of these settings."""
    environment = base_environment(found, os.environ)
    programs = Programs(sys.executable, str(found["etcd"]))
    command: tuple[str, ...] = ()
    if settings.runtime == CONTAINERD:
        paths = [str(found[name]) for name in ("containerd", "runc", "cni")]
        programs = Programs(sys.executable, str(found["etcd"]), *paths)
        command = tuple(registry.command(found["docker-registry"], registry_config(settings)))
    return Facts(
        programs=programs,
        environment=environment,
        cores=os.cpu_count() or 1,
        traits=traits.read(settings.folder),
        sandbox_image=images.PAUSE,
        proxies=proxies(os.environ, settings),
        registry=command,
        resolv_conf=traits.reachable_resolv_conf(),
        pki={path.name: plan.digest(path.read_text()) for path in settings.pki.iterdir()},
    )


def registry_config(settings: Settings) -> Path:
    return settings.folder / "registry.yml"


def base_environment(found: Tools, caller: Mapping[str, str]) -> dict[str, str]:
    """The environment of every process; the same from whichever shell, but for where Python finds this project."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    environment = {**found.environment({"PATH": BASE_PATH}), "HOME": home, "LC_ALL": "C.UTF-8"}
    if caller.get("PYTHONPATH"):
        environment["PYTHONPATH"] = caller["PYTHONPATH"]
    return environment


def proxies(caller: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """The caller's proxy settings, with the cluster's own networks excepted."""
    found = {name: caller[name] for name in PROXY_VARIABLES if caller.get(name)}
    own = [network for network in (settings.fabric, settings.pod_cidr, settings.service_cidr) if network]
    for name in ("NO_PROXY", "no_proxy") if found else ():
        found[name] = ",".join([*filter(None, [found.get(name, "")]), "localhost", "127.0.0.1", *own])
    return found
