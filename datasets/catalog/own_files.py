"""The user's own files: FORMAT:PATH."""

from ..entry import DataSetInfo
from ..limits import MAX_FEATURES
from ..options import Option

KINDS = ("auto", "binary", "multiclass", "multilabel")

OWN_FILES = {
    "svmlight": DataSetInfo(
        id="svmlight:PATH",
        name="svmlight file",
        summary="your own rows of label index:value ...",
        kind="multiclass",
        loader="loaders.libsvm:own",
        description="A file in the svmlight or LIBSVM format, compressed or not. Two different labels "
        "make a binary set, more "
        "of them a multiclass one, lines with several labels or none a multilabel one.",
        terms="yours",
        own=(
            Option("test", None, "file of the test part"),
            Option("kind", "auto", "what the labels are", choices=KINDS),
            Option(
                "first_index",
                "auto",
                "number of the first feature; auto is 0 if that occurs",
                choices=("auto", "0", "1"),
            ),
            Option("n_features", 0, "number of features; 0 is as many as occur", 0, MAX_FEATURES),
        ),
        splits=("given", "random"),
        paths=("PATH",),
    ),
}
