"""What there is, as far as it can be said without loading anything."""

from . import generated, handwriting, libsvm, tables, text, toys, trees
from .own_files import OWN_FILES

__all__ = ["OWN_FILES", "SETS"]

SETS = (*handwriting.SETS, *tables.SETS, *text.SETS, *trees.SETS, *generated.SETS, *libsvm.SETS, *toys.SETS)
