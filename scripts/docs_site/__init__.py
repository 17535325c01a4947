"""The entities' documentation: Markdown of web/docs and web/openapi.json in, static files out."""
