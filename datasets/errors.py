"""The one error that users of data sets meet."""


class DataError(ValueError):
    """A data set, an option or a file cannot be used; the message is one sentence that says what would be
    right."""
