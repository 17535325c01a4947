class Problem(Exception):
    """What the author of a page has to mend: it names the file."""
