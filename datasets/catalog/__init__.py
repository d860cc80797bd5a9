"""What there is, as far as it can be said without loading anything."""

from . import generated, handwriting, own_files, tables

SETS = (*handwriting.SETS, *tables.SETS, *generated.SETS)
OWN_FILES = own_files.OWN_FILES
