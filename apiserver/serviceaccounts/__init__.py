"""Tokens of service accounts: made on request, bound to an object, checked with public keys (A4).

Pure but for `keys`, which reads files. `claims` says what a token states, `tokens` signs and checks it;
`authentication.serviceaccounts` asks the watch cache whether what it is bound to is still there.
Source: https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/ and KEP-1205
"""
