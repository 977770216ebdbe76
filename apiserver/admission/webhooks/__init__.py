"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook: somebody else's word on a write (steps A6 and A11)."""
