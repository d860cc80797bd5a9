"""The user's own files: FORMAT:PATH."""

from ..entry import DataSetInfo
from ..limits import MAX_FEATURES
from ..options import Option
from .text import FEATURES, MIN_COUNT

TEST = Option("test", None, "file of the test part", title="test part")
KINDS = ("auto", "binary", "multiclass", "multilabel")

OWN_FILES = {
    "svmlight": DataSetInfo(
        id="svmlight:PATH",
        name="svmlight file",
        summary="your own rows of label index:value ...",
        kind="multiclass",
        loader="loaders.libsvm:own",
        description="A file in the svmlight or LIBSVM format, compressed or not. Two different labels "
        "make a binary set, more of them a multiclass one, lines with several labels or none a "
        "multilabel one.",
        terms="yours",
        own=(
            TEST,
            Option("kind", "auto", "what the labels are", choices=KINDS, title="kind of labels"),
            Option(
                "first_index",
                "auto",
                "number of the first feature; auto is 0 if that occurs",
                choices=("auto", "0", "1"),
                title="number of the first feature",
            ),
            Option(
                "n_features",
                0,
                "number of features; 0: up to the last, or those that occur",
                0,
                MAX_FEATURES,
                title="features",
            ),
        ),
        splits=("given", "random", "none"),
        kinds=(("kind=binary", "binary"), ("kind=multilabel", "multilabel")),
        paths=("PATH",),
    ),
    "columns": DataSetInfo(
        id="columns:PATH",
        name="column file",
        summary="your own tagged sentences, a token a line",
        kind="sequences",
        loader="loaders.conll:own",
        description="A file in CoNLL's format: a token a line, its word first and its tag last, other "
        "fields such as the part of speech between, blanks between fields and an empty line between "
        "sentences.",
        terms="yours",
        own=(TEST, FEATURES, MIN_COUNT),
        splits=("given", "random", "none"),
        paths=("PATH",),
    ),
    "lshtc": DataSetInfo(
        id="lshtc:PATH,HIERARCHY",
        name="LSHTC files",
        summary="your own documents in a tree of classes",
        kind="tree",
        loader="loaders.hierarchies:own",
        description="Documents as lines of leaf word:count ..., and the tree as lines of node numbers "
        "from the top to a leaf, or of a parent and its child. Word 0 is left out: the LSHTC files have "
        "the document's number there.",
        terms="yours",
        own=(TEST,),
        splits=("given", "random", "none"),
        weighting="counts",
        scale="minmax",
        paths=("PATH", "HIERARCHY"),
    ),
}
