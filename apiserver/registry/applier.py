"""PATCH with an apply configuration: created if absent, else applied to what is there; each retry starts afresh."""

from __future__ import annotations

from apimachinery import codec, errors, schema, typed
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apimachinery.schema import Node
from apiserver.registry import applying, decoding, managedfields
from apiserver.registry.applying import Application
from apiserver.registry.call import Admission, Call
from apiserver.registry.managedfields import Scope
from apiserver.registry.subresources import scale
from apiserver.registry.validation import causes
from apiserver.registry.writing import Writer
from apiserver.scheme.scheme import Scheme
from apiserver.storage.types import Stored

CREATE_TRIES_MAX = 3  # an apply that finds nothing creates; somebody may be faster, or delete again


class Applier:
    def __init__(self, scheme: Scheme, writer: Writer) -> None:
        self._scheme = scheme
        self._writer = writer

    async def apply(self, call: Call, body: bytes, gate: Admission | None = None) -> Stored:
        """Raises BadRequest, Conflict (unless `call.force`), Invalid, NotFound for a subresource."""
        scope = self._scope(call)
        config = self._config(call, body, scope)
        application = Application(config, scope, call.force)
        given = config["metadata"]
        row = call.resource

        async def transform(current: Object) -> Object:
            return self._defaulted(call, applying.applied(current, application))

        for _ in range(CREATE_TRIES_MAX):
            try:
                return await self._writer.rewrite(
                    call,
                    transform,
                    uid=given.get("uid"),
                    version=given.get("resourceVersion"),
                    gate=gate,
                    tracks=False,
                )
            except errors.NotFound:
                if call.subresource or given.get("resourceVersion"):
                    raise
            if given.get("uid"):
                why = f"the provided object specified uid {given['uid']}, and no existing object was found"
                raise errors.conflict(row.group, row.resource, call.name, f"uid mismatch: {why}")
            try:
                made = self._defaulted(call, applying.created(application))
                stored = await self._writer.create(call, made, tracks=False)
            except errors.AlreadyExists:
                continue
            call.created = True
            return stored
        raise errors.conflict(row.group, row.resource, call.name)

    def _scope(self, call: Call) -> Scope:
        scope = self._writer.scope(call, managedfields.APPLY)
        if scope is None:
            raise errors.UnsupportedMediaType(f"{call.resource.kind} cannot be applied")
        if not call.field_manager:
            found = [causes.required("fieldManager", "is required for apply patch")]
            raise errors.invalid("meta.k8s.io", "PatchOptions", "", found)
        return scope

    def _config(self, call: Call, body: bytes, scope: Scope) -> Object:
        """The configuration: typed, of the right kind, about the object of the path; without defaults."""
        duplicates: list[str] = []
        try:
            config = codec.decode_yaml(body, duplicates)
        except codec.CodecError as error:
            raise errors.BadRequest(f"error decoding YAML: {error}") from error
        if not isinstance(config, dict):
            raise errors.BadRequest("error decoding YAML: an apply configuration must be an object")
        kind = call.resource.gvk if call.subresource != "scale" else scale.SCALE
        found = GVK.of(str(config.get("apiVersion") or ""), str(config.get("kind") or ""))
        if found != kind:
            raise errors.BadRequest(f"invalid object type: {_gvk_text(found)}")
        node = self._scheme.schemas.of(kind)
        assert node is not None, "every kind that can be applied has a type"
        self._check_type(call, config, kind, node)
        decoding.report_strict(call, duplicates)
        self._check_metadata(call, config.setdefault("metadata", {}))
        if call.subresource == "scale":
            return scale.configuration(call.resource, config)
        self._drop_foreign_part(call, config, scope)
        return config

    @staticmethod
    def _check_type(call: Call, config: Object, kind: GVK, node: Node) -> None:
        """Refuses what does not fit the type, and makes the rest canonical. Raises BadRequest.

        Upstream answers 500 here, an issue of its own (kubernetes#122480); the fault is the client's.
        """
        found = typed.problems(config, node)
        if not found:
            try:
                node.check(config, schema.Walk())
            except schema.TypeMismatch as error:
                found = [str(error)]
        if found:
            metadata = config.get("metadata")
            metadata = metadata if isinstance(metadata, dict) else {}
            whose = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {_gvk_text(kind)}"
            raise errors.BadRequest(f"failed to create typed patch object ({whose}): {typed.text(found)}")

    @staticmethod
    def _check_metadata(call: Call, metadata: Object) -> None:
        if "managedFields" in metadata:
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
    def _drop_foreign_part(call: Call, config: Object, scope: Scope) -> None:
        """`status` belongs to its own path, and all else does not belong there: neither is owned from the other."""
        if call.subresource == "status":
            for field in [field for field in config if field not in ("apiVersion", "kind", "metadata", "status")]:
                del config[field]
        elif scope.has_status:
            config.pop("status", None)

    def _defaulted(self, call: Call, obj: Object) -> Object:
        """A copy of its own, since the parts are the current object's and the configuration's, with defaults."""
        own: Object = codec.decode_json(codec.encode(obj))
        self._scheme.default(call.resource.gvk, own)
        return own


def _gvk_text(kind: GVK) -> str:
    """As Go prints it."""
    return f"{kind.group}/{kind.version}, Kind={kind.kind}"
