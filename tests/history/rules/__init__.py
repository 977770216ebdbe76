"""The rules that a history must hold, one topic a file. Each rule is a pure function: timeline in, violations out."""
