"""Sets made on the spot, at any size."""

from collections.abc import Callable, Mapping
from typing import Any

from ..entry import DataSetInfo, Lam
from ..limits import MAX_FEATURES
from ..options import Option
from ..size import Size, generated
from .papers import BLONDEL, YU, ZHONG

WORDS = (
    "Word frequencies follow Zipf's law; one word in twenty is a copy of another, one in ten comes "
    "along with another."
)
OWN = "made here from a seed"
FREE = "free to use"


def samples(default: int, what: str) -> Option:
    """Return the option of how many samples are made."""
    help = f"training {what}; a quarter of that for testing"
    return Option("n_samples", default, help, 1, 10_000_000, title="training samples n")


def measure(outputs: str, *by: str) -> Callable[[Mapping[str, Any]], Size]:
    """Return the measure of a set whose option ``outputs`` counts its outputs; ``by`` names the options that
    make it smaller."""
    return lambda o: generated(
        o["n_samples"],
        o["n_features"],
        o[outputs],
        o["density"] * o["n_features"],
        *by,
        length=o.get("length", 1),
    )


#: Options of invented documents.
DOCUMENTS = samples(2000, "documents")
DENSITY = Option(
    "density", 0.01, "share of the words that a document has", 1e-7, 0.5, title="share of non-zeros"
)

SETS = (
    DataSetInfo(
        id="synthetic-chain",
        name="Synthetic chain",
        summary="label sequences of any size with binary features",
        kind="sequences",
        loader="loaders.synthetic_chain:synthetic_chain",
        paper=ZHONG,
        size="n_samples x length tokens, n_features, n_labels; by default 200 x 20, 1,000 features, 8 labels",
        description="Labels follow a Markov chain in which each has two likely successors; a third of a "
        "token's binary features come from a block that belongs to its label, the rest are noise. One "
        "sequence of 100,000 tokens is n_samples=1, length=100000.",
        source=OWN,
        terms=FREE,
        own=(
            samples(200, "sequences"),
            Option("length", 20, "tokens in a sequence", 1, 10_000_000, title="tokens a sequence"),
            Option("n_features", 1000, "features", 1, MAX_FEATURES, title="features"),
            Option("n_labels", 8, "labels", 2, 1000, title="labels"),
            Option(
                "density",
                0.01,
                "share of the features that a token has",
                0.0,
                1.0,
                title="share of non-zeros",
            ),
        ),
        measure=measure("n_labels", "n_samples", "length", "n_labels"),
        lams=(Lam(2.0, 292, 8064, 0.950),),
    ),
    DataSetInfo(
        id="synthetic-text",
        name="Synthetic text",
        summary="invented documents of any number, with Zipf's law, topics and redundant words",
        kind="multiclass",
        loader="loaders.synthetic_text:synthetic_text",
        paper=BLONDEL,
        size="small: 2,000 x 5,000, 5 classes; text20: 18,846 x 130,088, 20 classes; binary: 57,763 x "
        "20,958, 2 classes",
        description=f"Three words in ten belong to the topic of the document's class. {WORDS} A quarter "
        "as many documents for testing. preset=text20 has the size of 20 Newsgroups, preset=binary that "
        "of real-sim.",
        source=OWN,
        terms=FREE,
        own=(
            DOCUMENTS,
            Option("n_features", 5000, "words", 10, MAX_FEATURES, title="features"),
            Option("n_classes", 5, "classes", 2, 10_000, title="classes"),
            DENSITY,
        ),
        kinds=(("n_classes=2", "binary"),),
        presets={
            "small": {},
            "text20": {"n_samples": 18_846, "n_features": 130_088, "n_classes": 20, "density": 0.001},
            "binary": {"n_samples": 57_763, "n_features": 20_958, "n_classes": 2, "density": 0.0025},
        },
        weighting="tf-idf",
        scale="unit",
        measure=measure("n_classes", "n_samples", "n_features", "n_classes"),
        lams=(Lam(2e-5, 182, 25_000, 0.980),),
    ),
    DataSetInfo(
        id="synthetic-tree",
        name="Synthetic tree",
        summary="invented documents in a random tree of classes, at any size",
        kind="tree",
        loader="loaders.synthetic_tree:synthetic_tree",
        paper=ZHONG,
        size="small: 600 x 2,000, 60 nodes, 40 leaves; paper: 4,463 x 51,033, 2,388 nodes, 1,139 leaves",
        description=f"Words of a document tell every node on the path to its leaf. {WORDS} preset=paper "
        "has the size of the paper's hierarchical experiment: 121,866,804 weights. Counts are scaled to "
        "[0, 1].",
        source=OWN,
        terms=FREE,
        own=(
            samples(600, "documents"),
            Option("n_features", 2000, "words", 10, MAX_FEATURES, title="features"),
            Option(
                "n_nodes",
                60,
                "nodes of the tree, its root among them",
                3,
                1_000_000,
                title="nodes of the tree",
            ),
            Option("n_leaves", 40, "leaves", 2, 1_000_000, title="leaves"),
            Option("depth", 3, "levels below the root", 1, 100, title="depth of the tree"),
            DENSITY,
        ),
        presets={
            "small": {},
            "paper": {
                "n_samples": 4_463,
                "n_features": 51_033,
                "n_nodes": 2_388,
                "n_leaves": 1_139,
                "depth": 5,
                "density": 0.0028,
            },
        },
        weighting="counts",
        scale="minmax",
        measure=measure("n_nodes", "n_nodes", "n_features", "n_samples"),
        lams=(Lam(1.0, 629, 120_000, 0.420),),
    ),
    DataSetInfo(
        id="synthetic-multilabel",
        name="Synthetic multilabel",
        summary="invented documents with several labels each",
        kind="multilabel",
        loader="loaders.synthetic_text:synthetic_multilabel",
        paper=f"{YU}; {BLONDEL}",
        size="by default 2,000 x 2,000, 20 labels",
        description=f"Labels have falling frequencies and some come together; words tell the labels. {WORDS}",
        source=OWN,
        terms=FREE,
        own=(
            DOCUMENTS,
            Option("n_features", 2000, "words", 10, MAX_FEATURES, title="features"),
            Option("n_labels", 20, "labels", 2, 10_000, title="labels"),
            Option(
                "cardinality", 2.0, "labels of a document on average", 1.0, 1000.0, title="labels a document"
            ),
            DENSITY,
        ),
        weighting="tf-idf",
        scale="unit",
        measure=measure("n_labels", "n_samples", "n_features", "n_labels"),
        lams=(Lam(5e-3, 1793, 40_000, 0.892),),
    ),
)
