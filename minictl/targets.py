"""What a command is about: `TYPE`, `TYPE NAME…`, `TYPE/NAME…`, `TYPE,TYPE`, resolved against the server's resources."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apimachinery import errors, objects
from apimachinery.gvr import NAMESPACES
from minictl.discovery import ApiResource
from minictl.failures import Refused
from minictl.mapper import Mapper

if TYPE_CHECKING:
    from minictl.context import Context
    from minictl.manifests import Manifest


@dataclass(frozen=True, slots=True)
class Target:
    """Objects of one resource: those named, or the whole collection. `namespace`: a manifest's, else the command's."""

    resource: ApiResource
    names: tuple[str, ...] = ()
    namespace: str | None = None


async def resolve(mapper: Mapper, words: Sequence[str], *, verb: str) -> list[Target]:
    """The targets that the arguments name. Raises Refused."""
    if not words:
        raise Refused(
            f"You must specify the type of resource to {verb}. "
            'Use "minictl api-resources" for a complete list of supported resources.'
        )
    if any("/" in word for word in words):
        return await _slashed(mapper, words)
    types, names = words[0].split(","), tuple(words[1:])
    targets = [Target(resource, names) for name in types if name for resource in await mapper.find_all(name)]
    # a resource may be in a category and be named too
    return list(dict.fromkeys(targets))


async def one(mapper: Mapper, words: Sequence[str], *, verb: str, default: str = "") -> tuple[ApiResource, str]:
    """Exactly one object: `TYPE NAME`, `TYPE/NAME`, or with a `default` type just `NAME`."""
    if default and len(words) == 1 and "/" not in words[0]:
        words = [default, words[0]]
    targets = await resolve(mapper, words, verb=verb)
    if len(targets) != 1 or len(targets[0].names) != 1:
        raise Refused("you must specify exactly one resource, as TYPE/NAME")
    return targets[0].resource, targets[0].names[0]


async def of_manifests(context: Context, args: argparse.Namespace) -> list[Target]:
    """The objects of `-f`, each in its own namespace where it says one."""
    mapper = await context.mapper()
    return [
        Target(await mapper.by_kind(read.gvk), (objects.name_of(read.obj),), namespace_for(context, args, read))
        for read in context.manifests(args)
    ]


def namespace_of(context: Context, args: argparse.Namespace, target: Target) -> str | None:
    """Where a target's objects are; None for everywhere, and for what is in no namespace."""
    everywhere = args.all_namespaces or not target.resource.namespaced
    return None if everywhere else target.namespace or context.namespace


async def missing(context: Context, error: errors.NotFound, namespace: str | None) -> errors.NotFound:
    """What to say of a name that does not exist: that its namespace does not, where that is why."""
    if namespace is None:
        return error
    try:
        await context.client.get(NAMESPACES, namespace)
    except errors.NotFound as cause:
        return cause
    except errors.APIError:
        pass  # who may read the namespace's objects need not be allowed to read itself
    return error


def namespace_for(context: Context, args: argparse.Namespace, manifest: Manifest) -> str:
    """The manifest's namespace, else the command's. Raises Refused where both are said and differ."""
    own = objects.namespace_of(manifest.obj)
    if own and args.namespace and own != args.namespace:
        raise Refused(
            f'the namespace from the provided object "{own}" does not match the namespace "{args.namespace}". '
            f"You must pass '--namespace={own}' to perform this operation."
        )
    return own or context.namespace


async def _slashed(mapper: Mapper, words: Sequence[str]) -> list[Target]:
    found: list[Target] = []
    for word in words:
        kind, slash, name = word.partition("/")
        if not slash:
            raise Refused(
                "there is no need to specify a resource type as a separate argument when passing arguments in "
                f"resource/name form (e.g. 'minictl get resource/<resource_name>' instead of '{word}')"
            )
        if "/" in name:
            raise Refused("arguments in resource/name form may not have more than one slash")
        if not kind or not name:
            raise Refused("arguments in resource/name form must have a single resource and name")
        found.append(Target(await mapper.find(kind), (name,)))
    return found
