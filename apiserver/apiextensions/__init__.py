"""Custom resources: what a CustomResourceDefinition says becomes rows of the resource table, served like all others.

Pure: `structural` (what a schema may say), `compiled` (a schema's type, for pruning and ownership), `defaulting`,
`validation`, `kinds` (one version of one kind, compiled), `rows`, `naming` (who gets which names). With I/O: `serving`
(every worker follows the stored definitions) and `controller` (one worker writes their conditions and empties what is
deleted). Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""
