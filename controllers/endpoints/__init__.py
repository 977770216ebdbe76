"""Tells which addresses stand behind a Service: EndpointSlices, and Endpoints for those who still read them (C5)."""
