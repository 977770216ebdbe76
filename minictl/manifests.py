"""Objects from files: `-f FILE`, `-f FOLDER`, `-f -`; YAML with several documents, JSON, and Lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from apimachinery import codec
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from minictl import validation
from minictl.failures import Refused

SUFFIXES = (".json", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and where it came from."""

    obj: Object
    source: str
    gvk: GVK


def read(filenames: Sequence[str], stdin: TextIO, *, recursive: bool = False) -> list[Manifest]:
    """Every object in the files, in order. Raises Refused."""
    found = [
        manifest
        for name in filenames
        for source, text in _texts(name, stdin, recursive=recursive)
        for manifest in parse(text, source)
    ]
    if not found:
        raise Refused("no objects passed")
    return found


def parse(text: bytes, source: str) -> Iterator[Manifest]:
    """The objects of one file; Lists are taken apart. Raises Refused."""
    duplicates: list[str] = []
    try:
        documents = list(codec.decode_yaml_documents(text, duplicates))
    except codec.CodecError as error:
        raise Refused(f"error parsing {source}: {error}") from error
    if duplicates:
        raise Refused(f"error parsing {source}: {duplicates[0]}")
    for document in documents:
        yield from _objects(document, source)


def _objects(document: object, source: str) -> Iterator[Manifest]:
    gvk = validation.kind_of(document, source)
    assert isinstance(document, dict)  # kind_of has refused anything else
    if gvk.kind.endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _objects(item, source)
        return
    document.setdefault("metadata", {})
    yield Manifest(document, source, gvk)


def _texts(name: str, stdin: TextIO, *, recursive: bool) -> Iterator[tuple[str, bytes]]:
    if name == "-":
        yield "STDIN", stdin.read().encode(errors="surrogateescape")  # the bytes as they came
        return
    if name.startswith(("http://", "https://")):
        raise Refused(f'the path "{name}" is a URL: fetch it first, then use -f FILE or -f -')
    path = Path(name)
    if not path.exists():
        raise Refused(f'the path "{name}" does not exist')
    for file in _files(path, recursive=recursive) if path.is_dir() else [path]:
        try:
            yield str(file), file.read_bytes()
        except OSError as error:
            raise Refused(f'the path "{file}" cannot be read: {error.strerror}') from error


def _files(folder: Path, *, recursive: bool) -> list[Path]:
    candidates = folder.rglob("*") if recursive else folder.iterdir()
    files = sorted(path for path in candidates if path.is_file() and path.suffix in SUFFIXES)
    if not files:
        raise Refused(f"error reading [{folder}]: recognized file extensions are {list(SUFFIXES)}")
    return files
