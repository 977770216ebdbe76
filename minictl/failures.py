"""What minictl says when something fails, in kubectl's words, and the exit code. The one place that does.

UsageError, Refused      error: …                     1
APIError                 Error from server (REASON): … 1
ConnectionFailed         The connection to the server HOST was refused … 1
Several                  every one of them            1
Exit                     nothing more                 its code (exec: the command's)
"""

from __future__ import annotations

import copy
import errno
from collections.abc import Sequence
from urllib.parse import urlsplit

from apimachinery import errors
from client import kubeconfig
from minictl.arguments import UsageError
from minictl.cluster import errors as cluster_errors


class Refused(Exception):
    """minictl itself refuses, usually before any request (K1). The message is one line."""


class Several(Exception):
    """Some of many objects failed; the others are done."""

    def __init__(self, failures: Sequence[Exception]) -> None:
        super().__init__(f"{len(failures)} failures")
        self.failures = list(failures)


class Exit(Exception):
    """End with this code and say nothing more."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


def text_of(error: BaseException) -> str | None:
    """The lines for the standard error; None for an error that nobody expected."""
    match error:
        case Several() if len(error.failures) == 1:
            return text_of(error.failures[0]) or f"error: {error.failures[0]}\n"
        case Several():
            return "".join(_one_of_several(failure) for failure in error.failures)
        case ExceptionGroup():  # of tasks that ran side by side
            texts = [text_of(failure) for failure in error.exceptions]
            return None if None in texts else "".join(str(text) for text in texts)
        case UsageError() if error.command:
            return f"error: {error}\nSee 'minictl {error.command} --help' for usage.\n"
        case UsageError() | Refused() | cluster_errors.ClusterError():
            return f"error: {error}\n"
        case kubeconfig.NoConfiguration():
            return f"error: {error}\nStart a cluster with 'minictl up', or name a kubeconfig with --kubeconfig.\n"
        case kubeconfig.ConfigError():
            return f"error: {error}\n"
        case errors.APIError():
            return _server(error)
    return _connection(error)


def _one_of_several(error: Exception) -> str:
    """kubectl introduces its own refusal with `error:` only where it is the only one."""
    return f"{error}\n" if isinstance(error, Refused) else text_of(error) or f"{error}\n"


def naming(error: errors.APIError, what: str) -> errors.APIError:
    """The same refusal, saying which file it was about: `error when creating "a.yaml": …`."""
    named = copy.copy(error)
    named.message = f"{what}: {error.message}"
    return named


def _server(error: errors.APIError) -> str:
    if isinstance(error, errors.Unauthorized):
        return f"error: You must be logged in to the server ({error.message})\n"
    causes = error.details.get("causes") or []
    if isinstance(error, errors.Invalid) and causes and error.message.startswith(str(error.details.get("kind"))):
        kind, name = error.details.get("kind"), error.details.get("name")
        lines = [
            f"{cause['field']}: {cause['message']}" if cause.get("field") else cause["message"] for cause in causes
        ]
        head = f'The {kind} "{name}" is invalid: '
        return head + (lines[0] if len(lines) == 1 else "".join(f"\n* {line}" for line in lines)) + "\n"
    reason = error.status_reason
    return f"Error from server{f' ({reason})' if reason and reason != 'Unknown' else ''}: {error.message}\n"


def _connection(error: BaseException) -> str | None:
    from client import rest  # late: a wrong flag needs no HTTP

    if not isinstance(error, rest.ConnectionFailed):
        return None
    host = urlsplit(error.server).netloc or error.server
    # asyncio tells each address it tried by number, in one text
    if "refused" in str(error).lower() or f"[Errno {errno.ECONNREFUSED}]" in str(error):
        return f"The connection to the server {host} was refused - did you specify the right host or port?\n"
    return f"Unable to connect to the server: {str(error).removeprefix(error.server + ': ')}\n"
