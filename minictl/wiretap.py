"""`-v=6` to `-v=9`: every HTTP exchange on the standard error, as kubectl shows them.

Below 6: only the server's warnings. 6: method, URL, status, time. 7: the request's headers too. 8: bodies, cut.
9: bodies whole, and the curl command.
Secrets in the Authorization header are masked at every level.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from http import HTTPStatus
from typing import TextIO

BODY_MAX = 1024


class Wiretap:
    """Implements `client.rest.Observer`."""

    def __init__(self, err: TextIO, level: int) -> None:
        self._err = err
        self._level = level

    def sent(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> None:
        if self._level >= 9:
            flags = " ".join(f"-H {shlex.quote(f'{name}: {value}')}" for name, value in self._masked(headers).items())
            self._err.write(f"curl -v -X{method} {flags} {shlex.quote(url)}\n")
        elif self._level >= 7:
            self._err.write(f"{method} {url}\nRequest Headers:\n")
            for name, value in self._masked(headers).items():
                self._err.write(f"    {name.title()}: {value}\n")
        if self._level >= 8 and body:
            self._err.write(f"Request Body: {self._cut(body)}\n")

    def answered(self, method: str, url: str, status: int, headers: Mapping[str, str], seconds: float) -> None:
        for warning in _warnings(headers.get("warning", "")):
            self._err.write(f"Warning: {warning}\n")
        if self._level < 6:
            return
        try:
            phrase = HTTPStatus(status).phrase
        except ValueError:
            phrase = ""
        self._err.write(f"{method} {url} {status} {phrase} in {int(seconds * 1000)} milliseconds\n")
        if self._level >= 8:
            self._err.write("Response Headers:\n")
            for name, value in headers.items():
                self._err.write(f"    {name.title()}: {value}\n")

    def received(self, content: bytes) -> None:
        if self._level >= 8:
            self._err.write(f"Response Body: {self._cut(content)}\n")

    def _masked(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {
            name: f"{value.split(' ')[0]} <masked>" if name == "authorization" else value
            for name, value in headers.items()
        }

    def _cut(self, body: bytes) -> str:
        text = body.decode(errors="replace")
        if self._level >= 9 or len(text) <= BODY_MAX:
            return text
        return f"{text[:BODY_MAX]} [truncated {len(text) - BODY_MAX} chars]"


def _warnings(value: str) -> list[str]:
    """The texts of Warning headers: `299 - "text"`, several joined by commas."""
    return [re.sub(r"\\(.)", r"\1", text) for text in re.findall(r'299 \S+ "((?:[^"\\]|\\.)*)"', value)]
