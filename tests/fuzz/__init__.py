"""Fuzzers: whatever is sent, the apiserver answers as the API says, soon, and lives on.

`make test` runs them with fixed seeds and few examples, `make soak` with other seeds each time, until its time is over.
A case that was found is kept as a test of its own, in test_found.py. docs/reliability.md says what is checked.
"""
