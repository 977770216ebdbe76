"""The history checker: clients work while things break, and what they saw must have been one true story.

`python -m tests.history --minutes 20` records a history and checks it; `--check FILE` checks a recorded one again.
docs/reliability.md says what is checked, and how.
"""
