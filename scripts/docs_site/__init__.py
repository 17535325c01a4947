"""Makes the entities' documentation, static files, of web/docs and web/openapi.json."""
