"""Policies that are CEL expressions within the cluster: `admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy`.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""
