"""L10: the CNI configuration of this node, written once its podCIDR is known.

bridge with host-local addresses out of the podCIDR, then portmap for hostPorts. The runtime watches the folder and
takes the file up by itself. Masquerading is not the plugin's (it would hide pods of other nodes from each other): see
`routes.py`. Source: https://www.cni.dev/plugins/current/main/bridge/ and /ipam/host-local/
"""

from __future__ import annotations

from pathlib import Path

import orjson

from apimachinery.objects import Object

FILE_NAME = "10-armillary.conflist"
MTU = 1450  # leaves room for an overlay's header, whichever carries the fabric


def conflist(network_name: str, pod_cidr: str, data_dir: Path) -> Object:
    """`network_name` must be the node's own: results of all networks share one cache on the machine."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "isDefaultGateway": True,
        "hairpinMode": True,
        "ipMasq": False,
        "forceAddress": True,  # a node that was registered anew gets another range: the bridge follows
        "mtu": MTU,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": pod_cidr}]], "dataDir": str(data_dir)},
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}
    return {"cniVersion": "0.4.0", "name": network_name, "plugins": [bridge, portmap]}


def write(conf_dir: Path, config: Object) -> bool:
    """Put the file there in one piece. Returns whether it was new."""
    path = conf_dir / FILE_NAME
    content = orjson.dumps(config, option=orjson.OPT_INDENT_2) + b"\n"
    if path.exists() and path.read_bytes() == content:
        return False
    conf_dir.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".tmp")  # not a name that runtimes load
    fresh.write_bytes(content)
    fresh.rename(path)
    return True
