"""What may be a name: RFC 1123 and 1035 labels, subdomains, label keys and values, image references.

Each check returns the list of what is wrong, in upstream's words (`k8s.io/apimachinery/pkg/util/validation`);
an empty list means valid.
"""

from __future__ import annotations

import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_label = re.compile(_LABEL)
_label_1035 = re.compile(_LABEL_1035)
_subdomain = re.compile(_SUBDOMAIN)
_qualified = re.compile(_QUALIFIED)
_env_name = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


def dns_label(value: str) -> list[str]:
    """RFC 1123 label, at most 63 characters: namespaces, container names."""
    problems = _too_long(value, 63)
    if not _label.fullmatch(value):
        problems.append(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
            "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
            f"'{_LABEL}')"
        )
    return problems


def dns_1035_label(value: str) -> list[str]:
    """RFC 1035 label, at most 63 characters: Service names."""
    problems = _too_long(value, 63)
    if not _label_1035.fullmatch(value):
        problems.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
            f"validation is '{_LABEL_1035}')"
        )
    return problems


def dns_subdomain(value: str) -> list[str]:
    """RFC 1123 subdomain, at most 253 characters: the names of most objects."""
    problems = _too_long(value, 253)
    if not _subdomain.fullmatch(value):
        problems.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            f"'{_SUBDOMAIN}')"
        )
    return problems


def path_segment(value: str) -> list[str]:
    """A name that may stand in a URL path: RBAC kinds are this free."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in value]


def qualified_name(value: str) -> list[str]:
    """A label or annotation key: an optional DNS prefix and `/`, then a name of at most 63 characters."""
    parts = value.split("/")
    if len(parts) > 2:
        return [
            "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            f"'{_QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems: list[str] = []
    if len(parts) == 2:
        if not parts[0]:
            problems.append("prefix part must be non-empty")
        else:
            problems += [f"prefix part {problem}" for problem in dns_subdomain(parts[0])]
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    problems += [f"name part {problem}" for problem in _too_long(name, 63)]
    if not _qualified.fullmatch(name):
        problems.append(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            f"'{_QUALIFIED}')"
        )
    return problems


def label_value(value: str) -> list[str]:
    """A label's value: empty, or at most 63 characters."""
    problems = _too_long(value, 63)
    if value and not _qualified.fullmatch(value):
        problems.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
            f"validation is '({_QUALIFIED})?')"
        )
    return problems


def env_name(value: str) -> list[str]:
    """The name of an environment variable."""
    if _env_name.fullmatch(value):
        return []
    return [
        "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must "
        "not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is "
        "'[-._a-zA-Z][-._a-zA-Z0-9]*')"
    ]


_HOST_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_image = re.compile(
    rf"(?:{_DOMAIN}/)?{_PATH_PART}(?:/{_PATH_PART})*(?::[\w][\w.-]{{0,127}})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)


def image_reference(value: str) -> list[str]:
    """A container image as `[host[:port]/]path[:tag][@digest]`.

    Source: https://github.com/distribution/reference (the grammar in its package documentation)
    """
    if not value:
        return ["must not be empty"]
    if len(value.partition(":")[0].partition("@")[0]) > 255 or not _image.fullmatch(value):
        return ["invalid reference format"]
    return []


def _too_long(value: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(value) > limit else []
