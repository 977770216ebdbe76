"""Every admission plugin (A6), in the one order in which they are asked; flags and chain both read it here.

A row names the plugin and the module whose `make(parts)` builds it. Modules are imported only when a chain is made, so
that who merely reads flags, as the supervisor does, pays for names alone. A test builds every row.
"""

from __future__ import annotations

import importlib
from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apimachinery.clock import Clock
    from apiserver.admission.chain import Plugin
    from apiserver.admission.conditions import Decide
    from apiserver.admission.policies.definitions import Policies
    from apiserver.admission.webhooks.reviewing import Reviewer
    from apiserver.scheme.scheme import Scheme
    from apiserver.storage.store import Store


@dataclass(frozen=True, slots=True)
class Parts:
    """What a plugin may be made of: each takes what it needs."""

    store: Store
    scheme: Scheme
    clock: Clock
    mutating: Reviewer
    validating: Reviewer
    policies: Policies
    mutating_policies: Policies
    decide: Decide


@dataclass(frozen=True, slots=True)
class Row:
    name: str  # upstream's, and the one in flags
    module: str  # has `make(parts: Parts)`, which returns the plugin of that name


# Upstream's order. A plugin that changes objects and one that refuses them share it: the chain asks all that change
# before any that refuses.
PLUGINS = (
    Row("NamespaceLifecycle", "apiserver.admission.namespace_lifecycle"),
    Row("ServiceAccount", "apiserver.admission.service_account"),
    Row("Priority", "apiserver.admission.priority"),
    Row("DefaultTolerationSeconds", "apiserver.admission.default_toleration_seconds"),
    Row("MutatingAdmissionPolicy", "apiserver.admission.policies.mutating"),
    Row("MutatingAdmissionWebhook", "apiserver.admission.webhooks.mutating"),
    Row("ValidatingAdmissionPolicy", "apiserver.admission.policies.validating"),
    Row("ValidatingAdmissionWebhook", "apiserver.admission.webhooks.validating"),
)
NAMES = tuple(row.name for row in PLUGINS)


def build(parts: Parts, enabled: Container[str]) -> list[Plugin]:
    """The enabled plugins, in order."""
    return [importlib.import_module(row.module).make(parts) for row in PLUGINS if row.name in enabled]
