"""Aggregation (A1): group-versions that an APIService leads to another server, and those that are served here.

`remotes` follows the APIServices; `services` finds a Service's address; `frontproxy` says to the other server who asks;
`registration` keeps an APIService for what is served here; `availability` says in each APIService whether it works;
`documents` gathers what the other servers say of themselves. The handler is `apiserver.handlers.aggregation`.
Source: https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/
"""
