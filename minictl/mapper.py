"""From any name of a resource to the resource (step K3): `po`, `pod`, `Pod`, `deployments.apps`, `all`.

Where a name fits several, the first wins: exact plural, then singular, short name, kind; core before groups; the
version that the group prefers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apimachinery.gvr import GVK
from minictl.discovery import ApiResource, Discovery
from minictl.failures import Refused


class Mapper:
    """The resources of one server by name."""

    def __init__(self, discovery: Discovery, warn: Callable[[str], None]) -> None:
        self._discovery = discovery
        self._warn = warn
        self._resources: list[ApiResource] | None = None
        self._refreshed = False

    async def resources(self) -> list[ApiResource]:
        if self._resources is None:
            self._resources = await self._discovery.resources()
        return self._resources

    async def find(self, name: str) -> ApiResource:
        """One resource. Raises Refused for a name that the server does not know."""
        found = find(await self.resources(), name)
        if found is None and await self.refresh():
            found = find(await self.resources(), name)
        if found is None:
            raise Refused(f'the server doesn\'t have a resource type "{name}"')
        for other in overshadowed(await self.resources(), name, found):
            self._warn(f'Warning: short name "{name}" could also match lower priority resource {other.qualified}')
        return found

    async def find_all(self, name: str) -> list[ApiResource]:
        """The members of a category (`all`), or the one resource of that name."""
        members = in_category(await self.resources(), name)
        return members or [await self.find(name)]

    async def by_kind(self, gvk: GVK) -> ApiResource:
        """The resource of an object's apiVersion and kind. Raises Refused."""
        found = by_kind(await self.resources(), gvk)
        if found is None and await self.refresh():
            found = by_kind(await self.resources(), gvk)
        if found is None:
            raise Refused(
                f'no matches for kind "{gvk.kind}" in version "{gvk.api_version}"\nensure CRDs are installed first'
            )
        return found

    async def refresh(self) -> bool:
        """Ask the server again, once a run."""
        if self._refreshed:
            return False
        self._refreshed = True
        self._resources = await self._discovery.resources(refresh=True)
        return True


def find(resources: Sequence[ApiResource], name: str) -> ApiResource | None:
    """`resource`, `resource.group` or `resource.version.group`; the resource by any of its names."""
    head, _, rest = name.partition(".")
    candidates = [resource for resource in resources if _is_in(resource, rest)]
    lowered = head.lower()
    ways = (
        lambda r: r.gvr.resource == lowered,
        lambda r: (r.singular or r.kind.lower()) == lowered,
        lambda r: lowered in r.short_names,
        lambda r: r.kind.lower() == lowered,
    )
    for fits in ways:
        matching = [resource for resource in candidates if fits(resource)]
        if matching:
            return next((resource for resource in matching if resource.preferred), matching[0])
    return None


def overshadowed(resources: Sequence[ApiResource], name: str, found: ApiResource) -> list[ApiResource]:
    """The resources of other groups that have the same short name."""
    if name not in found.short_names:
        return []
    return [r for r in resources if name in r.short_names and r.gvr.group != found.gvr.group and r.preferred]


def in_category(resources: Sequence[ApiResource], name: str) -> list[ApiResource]:
    return [resource for resource in resources if name in resource.categories and resource.preferred]


def by_kind(resources: Sequence[ApiResource], gvk: GVK) -> ApiResource | None:
    return next(
        (
            resource
            for resource in resources
            if (resource.gvr.group, resource.gvr.version, resource.kind) == (gvk.group, gvk.version, gvk.kind)
        ),
        None,
    )


def _is_in(resource: ApiResource, rest: str) -> bool:
    """Whether `rest`, what follows the first dot of a name, is the resource's group, or version and group."""
    if not rest:
        return True
    version, _, group = rest.partition(".")
    gvr = resource.gvr
    return rest == gvr.group or (version == gvr.version and group == gvr.group)
