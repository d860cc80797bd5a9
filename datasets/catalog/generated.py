"""Sets made on the spot, at any size."""

from ..entry import DataSetInfo
from ..options import Option

OWN = "made here from a seed"
FREE = "free to use"

SETS = (
    DataSetInfo(
        id="synthetic-chain",
        name="Synthetic chain",
        summary="label sequences of any size with binary features",
        kind="sequences",
        loader="loaders.synthetic_chain:synthetic_chain",
        paper="Zhong et al. 2014",
        size="n_samples x length tokens, n_features, n_labels; by default 200 x 20, 1,000 features, 8 labels",
        description="Labels follow a Markov chain in which each has two likely successors; a third of a "
        "token's binary "
        "features come from a block that belongs to its label, the rest are noise. One sequence of "
        "100,000 tokens is "
        "n_samples=1, length=100000.",
        source=OWN,
        terms=FREE,
        own=(
            Option("n_samples", 200, "training sequences; a quarter of that for testing", 1, 10_000_000),
            Option("length", 20, "tokens in a sequence", 1, 10_000_000),
            Option("n_features", 1000, "features", 1, 10_000_000),
            Option("n_labels", 8, "labels", 2, 1000),
            Option("density", 0.01, "share of the features that a token has", 0.0, 1.0),
        ),
    ),
)
