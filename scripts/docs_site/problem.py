class Problem(Exception):
    """An error that the author of a page must correct. The message names a file."""
