"""PATCH with an apply configuration: created if absent, else applied to what is there; each retry starts afresh."""

from __future__ import annotations

from apimachinery import codec, errors, schema
from apimachinery.objects import Object
from apimachinery.schema import Node
from apiserver.registry import applying, decoding, managedfields, strategies
from apiserver.registry.applying import Application
from apiserver.registry.call import Call
from apiserver.registry.managedfields import Scope
from apiserver.registry.validation import causes
from apiserver.registry.writing import Writer
from apiserver.scheme.scheme import Scheme
from apiserver.storage.types import Stored

CREATE_TRIES_MAX = 3  # an apply that finds nothing creates; somebody may be faster, or delete again


class Applier:
    def __init__(self, scheme: Scheme, writer: Writer) -> None:
        self._scheme = scheme
        self._writer = writer

    async def apply(self, call: Call, body: bytes) -> Stored:
        """Raises BadRequest, Conflict (unless `call.force`), Invalid, NotFound for a subresource."""
        scope = self._scope(call)
        config = self._config(call, body, scope.node)
        application = Application(config, scope, call.force)
        given = config["metadata"]

        async def transform(current: Object) -> Object:
            return self._defaulted(call, applying.applied(current, application))

        for _ in range(CREATE_TRIES_MAX):
            try:
                return await self._writer.rewrite(
                    call, transform, uid=given.get("uid"), version=given.get("resourceVersion"), tracks=False
                )
            except errors.NotFound:
                if call.subresource or given.get("uid") or given.get("resourceVersion"):
                    raise
            try:
                made = self._defaulted(call, applying.created(application))
                stored = await self._writer.create(call, made, tracks=False)
            except errors.AlreadyExists:
                continue
            call.created = True
            return stored
        row = call.resource
        raise errors.conflict(row.group, row.resource, call.name)

    def _scope(self, call: Call) -> Scope:
        scope = self._writer.scope(call, managedfields.APPLY)
        if scope is None or call.subresource not in ("", "status"):
            raise errors.UnsupportedMediaType(f"{call.resource.kind}/{call.subresource} cannot be applied")
        if not call.field_manager:
            found = [causes.required("fieldManager", "is required for apply patch")]
            raise errors.invalid("meta.k8s.io", "PatchOptions", "", found)
        return scope

    def _config(self, call: Call, body: bytes, node: Node) -> Object:
        """The configuration: typed, of the right kind, about the object of the path; without defaults."""
        duplicates: list[str] = []
        try:
            config = codec.decode_yaml(body, duplicates)
        except codec.CodecError as error:
            raise errors.BadRequest(f"error decoding YAML: {error}") from error
        if not isinstance(config, dict):
            raise errors.BadRequest("error decoding YAML: an apply configuration must be an object")
        for field in ("apiVersion", "kind"):
            if not config.get(field):
                raise errors.BadRequest(f"{field} must be set in an apply patch")
        decoding.check_kind(config, call.resource.gvk)
        walk = schema.Walk()
        try:
            node.check(config, walk)
        except schema.TypeMismatch as error:
            raise decoding.unfit(call.resource.gvk, str(error)) from error
        decoding.report(call, call.resource.gvk, walk.unknown, duplicates)
        self._check_metadata(call, config.setdefault("metadata", {}))
        self._drop_foreign_part(call, config)
        return config

    @staticmethod
    def _check_metadata(call: Call, metadata: Object) -> None:
        if metadata.get("managedFields"):
            raise errors.BadRequest("metadata.managedFields must be nil")
        if metadata.setdefault("name", call.name) != call.name:
            raise errors.BadRequest(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({call.name})"
            )
        if metadata.get("namespace", call.namespace) != call.namespace:
            raise errors.BadRequest(
                "the namespace of the provided object does not match the namespace sent on the request"
            )

    @staticmethod
    def _drop_foreign_part(call: Call, config: Object) -> None:
        """`status` belongs to its own path, and all else does not belong there: neither is owned from the other."""
        if call.subresource == "status":
            for field in [field for field in config if field not in ("apiVersion", "kind", "metadata", "status")]:
                del config[field]
        elif strategies.of(call.resource).has_status:
            config.pop("status", None)

    def _defaulted(self, call: Call, obj: Object) -> Object:
        """A copy of its own, since the parts are the current object's and the configuration's, with defaults."""
        own: Object = codec.decode_json(codec.encode(obj))
        self._scheme.default(call.resource.gvk, own)
        return own
