"""Sets whose labels are nodes of a tree."""

from ..entry import DataSetInfo, Lam
from ..options import Option
from ..store import DataFile
from .papers import ZHONG

KU_LEUVEN = "https://dtai.cs.kuleuven.be/clus/hmcdatasets"

SETS = (
    DataSetInfo(
        id="digits-tree",
        name="Digits tree",
        summary="handwritten digits below a tree of shapes",
        kind="tree",
        loader="loaders.hierarchies:digits_tree",
        paper=ZHONG,
        size="1,797 x 64, 14 nodes, 10 leaves",
        description="The digits as leaves of a tree: 0, 6, 8, 9 have a closed loop, 1, 4, 7 are "
        "straight strokes, 2, 3, 5 are open bows. Small enough to see how weights of inner nodes serve "
        "several digits.",
        source="UCI, Optical Recognition of Handwritten Digits (test part), as in scikit-learn",
        terms="CC BY 4.0 (UCI)",
        splits=("random", "none"),
        scale=16.0,
        lams=(Lam(2.0, 159, 896, 0.961),),
    ),
    DataSetInfo(
        id="lshtc-dryrun",
        name="LSHTC dry run",
        summary="web pages in a tree of 1,139 leaf categories",
        kind="tree",
        loader="loaders.hierarchies:lshtc_dryrun",
        paper=ZHONG,
        size="task 1: 1,860 + 1,858 pages, 22,296 words; task 2: 4,463 + 1,858, 10,794 words; 2,388 nodes",
        description="Pages of the Open Directory by their words, from the dry run of the first Large "
        "Scale Hierarchical Text Classification challenge; a common root is added above its ten trees. "
        "Task 1 has the words of the pages (validation part for training: the paper's training file is "
        "not at hand), task 2 is trained on short descriptions. Each word's counts are scaled to [0, 1].",
        source="http://lshtc.iit.demokritos.gr/",
        own=(
            Option(
                "task",
                1,
                "1: words of pages; 2: short descriptions for training",
                1,
                2,
                title="kind of labels",
            ),
        ),
        weighting="counts",
        scale="minmax",
        files=(
            DataFile("lshtc1_dryrun/task1_validation.txt.gz", when="task=1"),
            DataFile("lshtc1_dryrun/task1_test.txt.gz", when="task=1"),
            DataFile("lshtc1_dryrun/task2_train.txt.gz", when="task=2"),
            DataFile("lshtc1_dryrun/task2_test.txt.gz", when="task=2"),
            DataFile("lshtc1_dryrun/cat_hier.txt.gz"),
        ),
        lams=(Lam(1.0, 2106, 53_242_848, 0.181, paper=True),),
    ),
    DataSetInfo(
        id="imclef07",
        name="ImCLEF07",
        summary="X-ray images in the tree of IRMA codes",
        kind="tree",
        loader="loaders.hierarchies:imclef07",
        size="10,000 + 1,006 x 80; A: 97 nodes, 63 leaves; D: 47 nodes, 26 leaves",
        description="Edge histograms of X-ray images; the class is a path of three levels in a code for "
        "anatomy (part=A) or direction (part=D). The tree has the nodes that occur and a common root.",
        source=f"{KU_LEUVEN} (Dimitrovski et al. 2008, ImageCLEF 2007)",
        own=(
            Option(
                "part", "A", "anatomical or directional code", choices=("A", "D"), title="part of the code"
            ),
        ),
        scale="minmax",
        files=tuple(
            DataFile(f"imclef07/ImCLEF07{part}_{half}.arff.gz", when=f"part={part}")
            for part in "AD"
            for half in ("Train", "Test")
        ),
        lams=(Lam(1.0, 2905, 7760, 0.808),),
    ),
    DataSetInfo(
        id="enron",
        name="Enron e-mail",
        summary="e-mails with labels in a tree",
        kind="multilabel",
        loader="loaders.hierarchies:enron",
        size="988 + 660 x 1,001, 56 labels",
        description="E-mails of Enron's staff, each with about three labels out of a tree of 56: genre, "
        "emotion, topic. A label implies those above it; ancestors=0 keeps the given ones only.",
        source=f"{KU_LEUVEN} (Klimt and Yang 2004; labels by UC Berkeley)",
        own=(
            Option(
                "ancestors", 1, "1: labels above a given one are labels too", 0, 1, title="labels above count"
            ),
        ),
        files=(
            DataFile("enron_hier/Enron_corr_trainvalid.arff.gz"),
            DataFile("enron_hier/Enron_corr_test.arff.gz"),
        ),
        lams=(Lam(0.1, 1950, 56_056, 0.901),),
    ),
)
