"""The images that run where no registry can be reached: pause, busybox and nginx, from the distribution's packages.

Built once into the cache (deterministic, so every node and cluster shares them), then pushed to the local registry
(`registry`) and, for pause, imported into each containerd. Tags are honest: `latest` and the versions that are inside.
Blocking; call from a thread where a loop runs.
"""

from __future__ import annotations

import platform
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minictl.cluster import apt, oci, pause, tools
from minictl.cluster.oci import Files

PAUSE = "localhost/armillary/pause:1"
"""What containerd's `sandbox_image` is set to. `localhost`: no registry of the world can be asked for it."""

# Raised when a recipe below changes: older builds in a cache are then not taken.
_RECIPE = 1
_IMPORT_TIMEOUT_SECONDS = 120.0

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PASSWD = """\
root:x:0:0:root:/root:/bin/sh
daemon:x:1:1:daemon:/usr/sbin:/bin/false
www-data:x:33:33:www-data:/var/www:/bin/false
nginx:x:101:101:nginx:/nonexistent:/bin/false
nobody:x:65534:65534:nobody:/home:/bin/false
"""
_GROUP = "root:x:0:\ndaemon:x:1:\nwww-data:x:33:\nnginx:x:101:\nnogroup:x:65534:\n"

_NGINX_CONF = """\
user  nginx;
worker_processes  auto;
error_log  /var/log/nginx/error.log notice;
pid  /run/nginx.pid;
events {
    worker_connections  1024;
}
http {
    include  /etc/nginx/mime.types;
    default_type  application/octet-stream;
    access_log  /var/log/nginx/access.log combined;
    sendfile  on;
    keepalive_timeout  65;
    include  /etc/nginx/conf.d/*.conf;
}
"""
_NGINX_SITE = """\
server {
    listen  80;
    server_name  localhost;
    location / {
        root  /usr/share/nginx/html;
        index  index.html index.htm;
    }
}
"""
# Not needed at run time; without them the image is a third of its size.
_NGINX_SKIP = (
    "etc/",
    "var/",
    "lib/systemd/",
    "usr/lib/systemd/",
    "usr/share/doc/",
    "usr/share/man/",
    "usr/share/lintian/",
    "usr/share/bug/",
    "usr/share/apport/",
    "usr/share/vim/",
)


class ImageError(Exception):
    """An image could not be built or imported; the message says which and why."""


@dataclass(frozen=True)
class BuiltImage:
    """An image in the cache. `names` are full references, the same image under each."""

    names: tuple[str, ...]
    archive: Path

    def read(self) -> oci.Image:
        return oci.read_layout(self.archive)


def build(progress: tools.Progress | None = None, places: tools.Places | None = None) -> list[BuiltImage]:
    """pause, busybox and nginx; those in the cache already cost nothing. Raises ImageError, tools.ToolsMissing.

    Without a package mirror only what needs none is missing: the error of nginx is raised after the others are built.
    """
    say = progress or (lambda _: None)
    places = places or tools.Places.of_this_machine()
    return [pause_image(places), busybox_image(places, say), nginx_image(places, say)]


def pause_image(places: tools.Places) -> BuiltImage:
    def make() -> tuple[oci.Image, list[str]]:
        files = Files()
        files.file("pause", pause.program(platform.machine()), 0o755)
        config = {"Entrypoint": ["/pause"], "WorkingDir": "/", "User": "65535:65535", "Env": [_PATH]}
        return oci.image([files.layer()], config, platform.machine(), "pause"), [PAUSE]

    return _cached("pause", places, make)


def busybox_image(places: tools.Places, progress: tools.Progress) -> BuiltImage:
    def make() -> tuple[oci.Image, list[str]]:
        busybox = tools.find(["busybox"], progress=progress, places=places)["busybox"]
        progress("building the busybox image")
        layer = busybox_files(busybox).layer()
        config = {"Cmd": ["sh"], "Env": [_PATH], "WorkingDir": "/"}
        return oci.image([layer], config, platform.machine(), "busybox-static"), _tags("busybox", _version(busybox))

    return _cached("busybox", places, make)


def nginx_image(places: tools.Places, progress: tools.Progress) -> BuiltImage:
    def make() -> tuple[oci.Image, list[str]]:
        busybox = tools.find(["busybox"], progress=progress, places=places)["busybox"]
        with tools.lock(places.tools, progress), tempfile.TemporaryDirectory(dir=places.tools) as scratch:
            root = _unpack_nginx(places, Path(scratch), progress)
            progress("building the nginx image")
            version = _nginx_version(root)
            layers = [busybox_files(busybox).layer(), nginx_files(root).layer()]
        config = nginx_config(version)
        return oci.image(layers, config, platform.machine(), "nginx"), _tags("nginx", version)

    return _cached("nginx", places, make)


def busybox_files(busybox: Path) -> Files:
    """A root with the static busybox, a link for each of its applets, and the files that programs expect."""
    files = Files()
    files.file("bin/busybox", busybox.read_bytes(), 0o755)
    applets = subprocess.run([str(busybox), "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        if applet != "busybox":
            files.link(f"bin/{applet}", "busybox")
    files.link("usr/bin/env", "../../bin/busybox")
    for folder in ("dev", "etc", "home", "proc", "sys", "usr/sbin", "var", "run"):
        files.folder(folder)
    for folder in ("tmp", "var/tmp"):
        files.folder(folder, 0o1777)
    files.folder("root", 0o700)
    files.file("etc/passwd", _PASSWD)
    files.file("etc/group", _GROUP)
    files.file("etc/shadow", "root:*:::::::\n", 0o640)
    return files


def nginx_files(root: Path) -> Files:
    """nginx and its libraries, laid out as its users know it: conf.d, /usr/share/nginx/html, logs to stdout."""
    files = Files()
    gconv = [f"{path.relative_to(root).as_posix()}/" for path in root.glob("**/gconv")]
    files.tree(root, (*_NGINX_SKIP, *gconv))
    for name in ("lib", "lib64"):  # newer releases have everything in /usr
        if (root / "usr" / name).is_dir() and not (root / name).exists():
            files.link(name, f"usr/{name}")
    files.file("etc/nginx/mime.types", (root / "etc/nginx/mime.types").read_bytes())
    files.file("etc/nginx/nginx.conf", _NGINX_CONF)
    files.file("etc/nginx/conf.d/default.conf", _NGINX_SITE)
    files.folder("var/lib/nginx")
    files.folder("run")
    files.link("var/log/nginx/access.log", "/dev/stdout")
    files.link("var/log/nginx/error.log", "/dev/stderr")
    return files


def nginx_config(version: str) -> dict[str, Any]:
    return {
        "Cmd": ["nginx", "-g", "daemon off;"],
        "Env": [_PATH, f"NGINX_VERSION={version}"],
        "ExposedPorts": {"80/tcp": {}},
        "StopSignal": "SIGQUIT",  # finish the requests at hand, then stop
        "WorkingDir": "/",
    }


def import_archive(archive: Path, sockets: Sequence[Path], ctr: Path, environment: Mapping[str, str]) -> None:
    """Imports an OCI or Docker archive into each containerd, for the kubelet's namespace. Raises ImageError."""
    for socket in sockets:
        command = [str(ctr), "--address", str(socket), "--namespace", "k8s.io", "images", "import", str(archive)]
        try:
            done = subprocess.run(
                command,
                env=dict(environment),
                capture_output=True,
                text=True,
                check=False,
                timeout=_IMPORT_TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise ImageError(f"{socket} took no image in {_IMPORT_TIMEOUT_SECONDS:.0f} s") from error
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["ctr failed and said nothing"]
            raise ImageError(f"{socket} did not take {archive.name}: {lines[-1]}")


def _cached(name: str, places: tools.Places, make: Any) -> BuiltImage:
    """The image from the cache, or made now and put there whole. The names stand beside the archive."""
    folder = places.cache / "images" / platform.machine()
    archive, names = folder / f"{name}-{_RECIPE}.tar", folder / f"{name}-{_RECIPE}.names"
    if not (names.exists() and archive.exists()):
        image, tags = make()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            fresh = Path(scratch) / "image"
            oci.write_layout(image, tags, fresh)
            fresh.rename(archive)
            note = Path(scratch) / "names"
            note.write_text("\n".join(tags) + "\n")
            note.rename(names)  # last: where the names are, the archive is whole
    return BuiltImage(tuple(names.read_text().split()), archive)


def _tags(name: str, version: str) -> list[str]:
    """`latest`, `1.22` and `1.22.1`: one image under three names, enough to watch a rollout."""
    minor = ".".join(version.split(".")[:2])
    return [f"docker.io/library/{name}:{tag}" for tag in dict.fromkeys(["latest", minor, version])]


def _version(busybox: Path) -> str:
    text = subprocess.run([str(busybox)], capture_output=True, text=True, check=False).stdout
    found = re.search(r"BusyBox v(\d+\.\d+\.\d+)", text)
    if found is None:
        raise ImageError(f"{busybox} does not tell its version")
    return found.group(1)


def _unpack_nginx(places: tools.Places, scratch: Path, progress: tools.Progress) -> Path:
    def is_library(name: str) -> bool:
        return name.startswith("lib") or name in ("zlib1g", "nginx-common")

    root = scratch / "root"
    try:
        debs = apt.Apt(places.tools / ".apt", progress).fetch(["nginx"], is_library, scratch / "debs")
        for deb in debs["nginx"]:
            apt.unpack(deb, root)
    except apt.AptError as error:
        raise ImageError(f"nginx cannot be built without the distribution's packages: {error}") from error
    return root


def _nginx_version(root: Path) -> str:
    """Read from the program's own banner: it may be for libraries this machine has not, so it is not run."""
    found = re.search(rb"nginx/(\d+\.\d+\.\d+)", (root / "usr/sbin/nginx").read_bytes())
    if found is None:
        raise ImageError("the package's nginx does not tell its version")
    return found.group(1).decode()
