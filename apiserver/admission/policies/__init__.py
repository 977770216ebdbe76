"""Policies that are CEL expressions within the cluster: ValidatingAdmissionPolicy and MutatingAdmissionPolicy.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
Source: https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/
"""
