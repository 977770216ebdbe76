"""Owner references given twice are stored once, with a warning (upstream does so since 1.20)."""

from __future__ import annotations

from apimachinery.objects import Object
from apiserver.registry.call import Call

_TEXT = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)


def deduplicate(call: Call, metadata: Object, *, admitted: bool) -> None:
    """Drops references that are equal to an earlier one, in place. `admitted` says that admission has seen them."""
    references = metadata.get("ownerReferences")
    if not references or len(references) < 2:
        return
    kept: list[Object] = []
    uids: list[str] = []
    for reference in references:
        if reference not in kept:
            kept.append(reference)
        elif (uid := reference.get("uid") or "") not in uids:
            uids.append(uid)
    if uids:
        metadata["ownerReferences"] = kept
        when = " after mutating admission happens" if admitted else ""
        call.warnings.append(_TEXT.format(when=when, uids=", ".join(uids)))
