"""ValidatingAdmissionPolicy and its bindings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes, expressions, policy, scalars

if TYPE_CHECKING:
    from apiserver.cel.declarations import Environment
    from apiserver.cel.types import Type

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
_ACTIONS = ("Audit", "Deny", "Warn")
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII)
MAX_ANNOTATIONS, MAX_VALUE_BYTES = 20, 5 * 1024
_EMPTY = "validations or auditAnnotations must contain at least one item"


def admission_policy(obj: Object) -> list[Cause]:
    spec = obj.get("spec") or {}
    kind = spec.get("paramKind")
    found = _whom(spec)
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        found += [causes.required(f"spec.{field}", _EMPTY) for field in ("validations", "auditAnnotations")]
    return found + _expressions(obj["metadata"].get("name") or "", spec, params=kind is not None)


def mutating_policy(obj: Object) -> list[Cause]:
    spec = obj.get("spec") or {}
    found = _whom(spec)
    reinvocation = spec.get("reinvocationPolicy")
    found += scalars.one_of(reinvocation, ("IfNeeded", "Never"), "spec.reinvocationPolicy")
    if not spec.get("mutations"):
        return [*found, causes.required("spec.mutations", "mutations must contain at least one item")]
    from apiserver.cel import environments, types  # not before somebody has an expression

    known: dict[str, Any] = {}
    params = spec.get("paramKind") is not None
    for index, variable in enumerate(spec.get("variables") or ()):
        found += _variable(variable, f"spec.variables[{index}]", known, params=params)
    variables = known if spec.get("variables") else None
    environment = environments.admission(params=params, variables=variables, patches=True)
    wanted = {"ApplyConfiguration": environments.OBJECT, "JSONPatch": types.list_of(environments.JSON_PATCH)}
    for index, mutation in enumerate(spec["mutations"]):
        found += _mutation(mutation, f"spec.mutations[{index}]", environment, wanted)
    return found


def _mutation(mutation: Object, field: str, environment: Environment, wanted: dict[str, Type]) -> list[Cause]:
    kind = mutation.get("patchType") or ""
    if kind not in wanted:
        return scalars.one_of(kind, wanted, f"{field}.patchType")
    name = kind[0].lower() + kind[1:] if kind != "JSONPatch" else "jsonPatch"
    other = "applyConfiguration" if name == "jsonPatch" else "jsonPatch"
    found: list[Cause] = []
    if mutation.get(other) is not None:
        found.append(
            causes.invalid(f"{field}.{other}", mutation[other], f"must not be specified when patchType is {kind}")
        )
    if mutation.get(name) is None:
        return [*found, causes.required(f"{field}.{name}", f"must be specified when patchType is {kind}")]
    text = mutation[name].get("expression") or ""
    if not text.strip():
        return [*found, causes.required(f"{field}.{name}.expression", "expression is not specified")]
    return found + expressions.expression(text, f"{field}.{name}.expression", environment, wanted[kind])


def mutating_policy_binding(obj: Object) -> list[Cause]:
    return _binding(obj.get("spec") or {})


def _whom(spec: Object) -> list[Cause]:
    """What policies of both kinds say of whom they mean, and of failing."""
    kind, conditions = spec.get("paramKind"), spec.get("matchConditions")
    found = scalars.one_of(spec.get("failurePolicy"), ("Fail", "Ignore"), "spec.failurePolicy")
    if kind is not None:
        found += _param_kind(kind)
    found += _constraints(spec.get("matchConstraints"))
    return found + expressions.match_conditions(conditions, "spec.matchConditions", params=kind is not None)


def _constraints(constraints: Object | None) -> list[Cause]:
    if constraints is None:
        return [causes.required("spec.matchConstraints")]
    found = match_resources(constraints, "spec.matchConstraints")
    if not constraints.get("resourceRules"):
        found.append(causes.required("spec.matchConstraints.resourceRules"))
    return found


def match_resources(matched: Object, field: str) -> list[Cause]:
    found = scalars.one_of(matched.get("matchPolicy"), ("Equivalent", "Exact"), f"{field}.matchPolicy")
    for selector in ("namespaceSelector", "objectSelector"):
        found += scalars.label_selector(matched.get(selector), f"{field}.{selector}")
    for kind in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(matched.get(kind) or ()):
            found += _named_rule(rule, f"{field}.{kind}[{index}]")
    return found


def _named_rule(rule: Object, field: str) -> list[Cause]:
    found: list[Cause] = []
    seen: set[str] = set()
    for index, name in enumerate(rule.get("resourceNames") or ()):
        where = f"{field}.resourceNames[{index}]"
        found += [causes.invalid(where, name, problem) for problem in names.path_segment(name)]
        if name in seen:
            found.append(causes.duplicate(where, name))
        seen.add(name)
    return found + policy.webhook_rule(rule, field)


def _param_kind(kind: Object) -> list[Cause]:
    found: list[Cause] = []
    for field in ("apiVersion", "kind"):
        if not kind.get(field):
            found.append(causes.required(f"spec.paramKind.{field}"))
    version = (kind.get("apiVersion") or "").rpartition("/")[2]
    if version:
        problems = names.dns_1035_label(version)
        if problems:
            found.append(causes.invalid("spec.paramKind.apiVersion", version, ",".join(problems)))
    problems = names.dns_1035_label(kind["kind"].lower()) if kind.get("kind") else []
    if problems:
        text = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        found.append(causes.invalid("spec.paramKind.kind", kind["kind"], text))
    return found


def _expressions(name: str, spec: Object, *, params: bool) -> list[Cause]:
    listed = [spec.get(field) for field in ("variables", "validations", "auditAnnotations")]
    if not any(listed):
        return []
    from apiserver.cel import environments  # not before somebody has an expression

    known: dict[str, Any] = {}
    found: list[Cause] = []
    for index, variable in enumerate(spec.get("variables") or ()):
        found += _variable(variable, f"spec.variables[{index}]", known, params=params)
    variables = known if spec.get("variables") else None
    environment = environments.admission(params=params, variables=variables)
    for_messages = environments.admission(params=params, authorizer=False, variables=variables)
    for index, validation in enumerate(spec.get("validations") or ()):
        found += _validation(validation, f"spec.validations[{index}]", environment, for_messages)
    return found + _annotations(name, spec.get("auditAnnotations") or (), environment)


def _variable(variable: Object, field: str, known: dict[str, Any], *, params: bool) -> list[Cause]:
    """Adds the variable to those that later expressions know."""
    from apiserver.cel import environments

    found: list[Cause] = []
    name, text = variable.get("name") or "", variable.get("expression") or ""
    if not name.strip():
        found.append(causes.required(f"{field}.name", "name is not specified"))
    elif not _IDENTIFIER.fullmatch(name) or name in _reserved():
        found.append(causes.invalid(f"{field}.name", name, "name is not a valid CEL identifier"))
    if not text.strip():
        return [*found, causes.required(f"{field}.expression", "expression is not specified")]
    try:
        program = environments.compiled(text, environments.admission(params=params, variables=known))
    except ValueError as error:
        return [*found, causes.invalid(f"{field}.expression", text, str(error))]
    known[name] = program.type
    return found


def _reserved() -> frozenset[str]:
    from apiserver.cel import lexing

    return lexing.RESERVED | {"true", "false", "null", "in"}


def _validation(validation: Object, field: str, environment: Environment, for_messages: Environment) -> list[Cause]:
    from apiserver.cel import types

    found: list[Cause] = []
    text, said = validation.get("expression") or "", validation.get("messageExpression") or ""
    if not text.strip():
        found.append(causes.required(f"{field}.expression", "expression is not specified"))
    else:
        found += expressions.expression(text, f"{field}.expression", environment, types.BOOL)
    if said and not said.strip():
        found.append(causes.invalid(f"{field}.messageExpression", said, "must be non-empty if specified"))
    elif said:
        found += expressions.expression(said, f"{field}.messageExpression", for_messages, types.STRING)
    message = validation.get("message") or ""
    if message and not message.strip():
        found.append(causes.invalid(f"{field}.message", message, "message must be non-empty if specified"))
    elif re.search(r"[\n\r]", message.strip()):
        found.append(causes.invalid(f"{field}.message", message, "message must not contain line breaks"))
    if validation.get("reason") is not None and validation["reason"] not in _REASONS:
        found.append(causes.unsupported(f"{field}.reason", validation["reason"], _REASONS))
    return found


def _annotations(name: str, annotations: Any, environment: Environment) -> list[Cause]:
    from apiserver.cel import types

    found: list[Cause] = []
    seen: set[str] = set()
    if len(annotations) > MAX_ANNOTATIONS:
        text = f"must not have more than {MAX_ANNOTATIONS} auditAnnotations"
        found.append(causes.invalid("spec.auditAnnotations", annotations, text))
    for index, annotation in enumerate(annotations):
        field, key = f"spec.auditAnnotations[{index}]", annotation.get("key") or ""
        text = (annotation.get("valueExpression") or "").strip()
        problems = names.qualified_name(f"{name}/{key}")
        found += [causes.invalid(f"{field}.key", f"{name}/{key}", problem) for problem in problems]
        if not text:
            found.append(causes.required(f"{field}.valueExpression", "valueExpression is not specified"))
        elif len(text.encode()) > MAX_VALUE_BYTES:
            why = f"must not exceed {MAX_VALUE_BYTES} bytes in length"
            found.append(causes.required(f"{field}.valueExpression", why))
        else:
            found += expressions.expression(text, f"{field}.valueExpression", environment, types.STRING, types.NULL)
        if key in seen:
            found.append(causes.duplicate(f"{field}.key", key))
        seen.add(key)
    return found


def admission_policy_binding(obj: Object) -> list[Cause]:
    spec = obj.get("spec") or {}
    return _binding(spec) + _actions(spec.get("validationActions") or [], "spec.validationActions")


def _binding(spec: Object) -> list[Cause]:
    found: list[Cause] = []
    if not spec.get("policyName"):
        found.append(causes.required("spec.policyName"))
    else:
        found += scalars.dns_subdomain(spec["policyName"], "spec.policyName")
    if spec.get("paramRef") is not None:
        found += _param_ref(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        found += match_resources(spec["matchResources"], "spec.matchResouces")  # upstream's spelling
    return found


def _param_ref(reference: Object, field: str) -> list[Cause]:
    found: list[Cause] = []
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        found += [causes.invalid(f"{field}.name", name, problem) for problem in names.path_segment(name)]
    if name and selector is not None:
        why = "name and selector are mutually exclusive"
        found += [causes.forbidden(f"{field}.name", why), causes.forbidden(f"{field}.selector", why)]
    if not name and selector is None:
        found.append(causes.required(field, "one of name or selector must be specified"))
    found += scalars.label_selector(selector, f"{field}.selector")
    action = reference.get("parameterNotFoundAction")
    if not action:
        found.append(causes.required(f"{field}.parameterNotFoundAction"))
    elif action not in ("Allow", "Deny"):
        found.append(causes.unsupported(f"{field}.parameterNotFoundAction", action, ("Deny", "Allow")))
    return found


def _actions(actions: list[str], field: str) -> list[Cause]:
    found: list[Cause] = []
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            found.append(causes.unsupported(f"{field}[{index}]", action, _ACTIONS))
        if action in actions[:index]:
            found.append(causes.duplicate(f"{field}[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API"
            " response and headers serves no purpose)"
        )
        found.append(causes.invalid(field, actions, why))
    if not actions:
        found.append(causes.required(field, "at least one validation action is required"))
    return found
