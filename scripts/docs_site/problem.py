class Problem(Exception):
    """An error that the author of a page must correct: it names the file."""
