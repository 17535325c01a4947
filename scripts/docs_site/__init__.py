"""Makes the entities' documentation (static files) from web/docs and web/openapi.json."""
