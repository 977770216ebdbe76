"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook: somebody else's word on a write (step A6)."""
