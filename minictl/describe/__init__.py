"""One object in words, with its events, in kubectl's layout: one file a kind, `generic` for all others.

A description is a pure function of what was read: `describe(obj, …) -> text with tabs`, which `layout` lines up.
"""
