"""The user's own files: FORMAT:PATH."""

from ..entry import DataSetInfo

OWN_FILES: dict[str, DataSetInfo] = {}
