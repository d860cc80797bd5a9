"""The one error that users of data sets meet."""


class DataError(ValueError):
    """The error that a data set, an option or a file cannot be used; the message is one sentence with the
    remedy."""


def short(error: Exception) -> str:
    """Quote what another library says was wrong, on one line and cut to 80 characters."""
    return " ".join(str(error).split())[:80] or type(error).__name__
