"""Build hook: compacts Kubernetes' published API schemas into the package.

The schemas come from the build dependency kubernetes-validate (Apache-2.0), which repackages upstream's OpenAPI
definitions for each release. They are build output, never committed: `apimachinery/_schemas/` is ignored by git.
Only the newest version is kept, without descriptions' whitespace, gzipped: about 250 KB instead of 108 MB.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VERSION = "v1.37.0"


class SchemaHook(BuildHookInterface[Any]):
    """Writes `apimachinery/_schemas/<version>.json.gz` and the note that names its source and licence."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        target = Path(self.root) / "apimachinery" / "_schemas"
        packed = target / f"{VERSION}.json.gz"
        if packed.exists():
            return
        # find_spec, not import: importing the package costs 200 ms and needs its own dependencies
        spec = importlib.util.find_spec("kubernetes_validate")
        if spec is None or spec.origin is None:
            raise RuntimeError(
                "the build needs kubernetes-validate; install with pip, which reads build-system.requires"
            )
        folder = Path(spec.origin).parent / "kubernetes-json-schema" / f"{VERSION}-local"
        definitions = json.loads((folder / "_definitions.json").read_text())
        target.mkdir(exist_ok=True)
        data = json.dumps(definitions, separators=(",", ":"), sort_keys=True).encode()
        packed.write_bytes(gzip.compress(data, mtime=0))
        (target / "NOTICE").write_text(
            f"Kubernetes API definitions {VERSION}, Copyright The Kubernetes Authors, Apache License 2.0,\n"
            "as packaged by kubernetes-validate.\n"
        )
