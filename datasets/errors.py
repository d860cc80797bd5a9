"""The error that data sets raise."""


class DataError(ValueError):
    """Raised if a data set, an option or a file cannot be used; the message explains what to do."""


def short(error: Exception) -> str:
    """Return the message of another library's error on one line, cut to 80 characters."""
    return " ".join(str(error).split())[:80] or type(error).__name__
