"""The webhook of a definition's conversion: where it is, and which reviews it takes."""

from __future__ import annotations

from urllib.parse import urlsplit

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes

REVIEW_VERSIONS = ("v1", "v1beta1")


def problems(webhook: Object | None, here: str) -> list[Cause]:
    config = (webhook or {}).get("clientConfig")
    if webhook is None or config is None:
        where = f"{here}.clientConfig"
        return [causes.required(where, "required when strategy is set to Webhook"), *_reviews(webhook or {}, here)]
    return _client(config, f"{here}.clientConfig") + _reviews(webhook, here)


def _client(config: Object, here: str) -> list[Cause]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [causes.required(here, "exactly one of url or service is required")]
    return _url(url, f"{here}.url") if service is None else _service(service, f"{here}.service")


def _url(url: str | None, here: str) -> list[Cause]:
    form = "desired format: https://host[/path]"
    try:
        parts = urlsplit(url or "")
    except ValueError as error:
        return [causes.required(here, f"url must be a valid URL: {error}; {form}")]
    found = []
    if parts.scheme != "https":
        found.append(causes.invalid(here, parts.scheme, f"'https' is the only allowed URL scheme; {form}"))
    if not parts.netloc:
        found.append(causes.invalid(here, parts.netloc, f"host must be specified; {form}"))
    if parts.username is not None:
        found.append(causes.invalid(here, parts.username, "user information is not permitted in the URL"))
    if parts.fragment:
        found.append(causes.invalid(here, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        found.append(causes.invalid(here, parts.query, "query parameters are not permitted in the URL"))
    return found


def _service(service: Object, here: str) -> list[Cause]:
    found = [
        causes.required(f"{here}.{field}", f"service {field} is required")
        for field in ("name", "namespace")
        if not service.get(field)
    ]
    port = service.get("port", 443)
    if not 0 < port < 1 << 16:
        text = "port is not valid: must be between 1 and 65535, inclusive"
        found.append(causes.invalid(f"{here}.port", port, text))
    path = service.get("path")
    if path and not path.startswith("/"):
        found.append(causes.invalid(f"{here}.path", path, "must start with a '/'"))
    return found


def _reviews(webhook: Object, here: str) -> list[Cause]:
    listed, field = webhook.get("conversionReviewVersions") or [], f"{here}.conversionReviewVersions"
    if not listed:
        return [causes.required(field)]
    found: list[Cause] = []
    for index, version in enumerate(listed):
        if version in listed[:index]:
            found.append(causes.invalid(f"{field}[{index}]", version, "duplicate version"))
        found += [causes.invalid(f"{field}[{index}]", version, why) for why in names.dns_1035_label(version)]
    if not any(version in REVIEW_VERSIONS for version in listed):
        text = f"must include at least one of {', '.join(REVIEW_VERSIONS)}"
        found.append(causes.invalid(field, listed, text))
    return found
