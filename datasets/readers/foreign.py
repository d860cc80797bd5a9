"""Formats that are recognized but not supported."""

from __future__ import annotations

import re
from collections.abc import Sequence

MARKUP = re.compile(rb"\s*<(\?xml|!doctype|html)", re.IGNORECASE)
ARFF_HEAD, ARFF_KEYWORD = re.compile(rb"@(relation|attribute)\s", re.IGNORECASE), re.compile(rb"[@%]")
#: A namespace of Vowpal Wabbit's begins a field, or follows a tag.
NAMESPACE = re.compile(rb"(?:^|\s)'?[^\s|']*\|(?:\s|$)|(?:^|\s)(?:'[^\s|]*)?\|")
#: A feature with a name, as CRFsuite has it.
NAMED_FEATURE = re.compile(rb"\S*[=:]\S*|__\w+__")


def of_another_format(rows: Sequence[bytes]) -> str | None:
    """Return the unsupported format that the first lines of a file suggest, with a remedy, or None.

    ``rows`` must not contain empty lines.
    """
    if not rows:
        return None
    if MARKUP.match(rows[0]):
        return "is a page of HTML or XML: get the data themselves"
    if all(row.lstrip()[:1] in (b"{", b"[") for row in rows) or rows[0].strip() in (b"{", b"[", b"[{"):
        return "is JSON: save it as CSV"
    head = [row for row in rows if not row.startswith(b"%")]
    if head and ARFF_HEAD.match(head[0]) and ARFF_KEYWORD.match(rows[1] if len(rows) > 1 else b"@"):
        return "is an ARFF file: save it as CSV"
    if 2 * sum(bool(NAMESPACE.search(row)) for row in rows) > len(rows):
        return "has namespaces after |, as Vowpal Wabbit's files have: save it as CSV or as svmlight rows"
    return None


def has_named_features(rows: Sequence[bytes]) -> bool:
    """Return whether most lines are a label followed by named features, as in CRFsuite's format."""
    fields = [row.split(b"\t") if b"\t" in row else row.split() for row in rows]
    named = sum(len(row) > 1 and all(map(NAMED_FEATURE.fullmatch, row[1:])) for row in fields)
    # a single feature:value may be a tag, and name=value is none
    several = max(map(len, fields), default=0) > 2 or all(b"=" in row[-1] for row in fields)
    return 2 * named > len(rows) and several
