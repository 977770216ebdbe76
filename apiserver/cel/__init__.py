"""The Common Expression Language: `x-kubernetes-validations`, match conditions and admission policies. Pure: no I/O.

An engine of our own, in plain Python, because it has to do what upstream's does and no engine for Python does:

* count the cost of an evaluation and stop it, and estimate it before: the published bindings of Google's C++ engine
  (cel-expr-python 0.1.3, 50 MB on disk) and cel-python have neither, so a rule could keep a worker busy for minutes;
* type-check against a structural schema and say what is wrong in the words of cel-go, position and all;
* hold Kubernetes' own types (quantity, IP, CIDR, URL, semver, format, authorizer).

A checked expression becomes nested closures over plain JSON values, without wrapping them: 1-3 µs for the rules of a
usual definition (`python -m bench.cel`), where the C++ engine takes 5 and more.

The way of an expression: `lexing` → `parsing` (with `macros`) → `checking` (with `types`, `declarations`, `library`) →
`compiling` (with `steps`, `folding`) → `programs.Program`; `estimating` foretells its cost. Patterns are RE2's.
`schematypes` gives the types of a schema; `rules` and `environments` are what the rest of the apiserver uses.

Does not: cel.bind, protobuf messages, integers as map keys beside booleans.
Source: https://kubernetes.io/docs/reference/using-api/cel/
"""
