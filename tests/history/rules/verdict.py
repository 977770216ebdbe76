"""What a rule says when it is broken."""

from __future__ import annotations

from dataclasses import dataclass

from tests.history import entries as e


@dataclass(frozen=True, slots=True)
class Violation:
    rule: str
    text: str
    entry: e.Entry | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}" + (f"\n    {self.entry}" if self.entry is not None else "")
