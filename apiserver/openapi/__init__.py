"""OpenAPI (A2) from the resource table and the published definitions: pure, made afresh when asked for."""
