"""Sets of rows with measured or coded features."""

from ..entry import DataSetInfo, Lam
from ..options import Option
from ..store import DataFile
from .papers import YU

MULAN = "http://mulan.sourceforge.net/datasets-mlc.html"

SETS = (
    DataSetInfo(
        id="breast-cancer",
        name="Breast cancer",
        summary="569 tumours, malignant or benign",
        kind="binary",
        loader="loaders.embedded:breast_cancer",
        size="569 x 30, 2 classes",
        description="Thirty measurements of cell nuclei seen in needle aspirates of breast masses; "
        "malignant is +1. Features are standardized with the training part's means and deviations.",
        source="UCI, Breast Cancer Wisconsin (Diagnostic), as in scikit-learn",
        terms="CC BY 4.0 (UCI)",
        splits=("random", "none"),
        scale="standard",
        lams=(Lam(5e-3, 11, 30, 0.982),),
    ),
    DataSetInfo(
        id="letter",
        name="Letter",
        summary="printed capital letters by 16 measurements",
        kind="multiclass",
        loader="loaders.tables:letter",
        paper=YU,
        size="15,000 + 5,000 x 16, 26 classes",
        description="Pictures of capital letters in twenty distorted fonts, each as 16 whole numbers "
        "from 0 to 15, here divided by 15. The first rows are for training.",
        source="https://archive.ics.uci.edu/dataset/59/letter+recognition",
        terms="CC BY 4.0 (UCI)",
        own=(
            Option(
                "n_train",
                "15000",
                "training rows: LIBSVM's or UCI's split",
                choices=("15000", "16000"),
                title="training rows",
            ),
        ),
        splits=("given", "random"),
        scale=15.0,
        files=(DataFile("letter/letter-recognition.data.gz"),),
        lams=(Lam(5e-5, 374, 416, 0.757),),
    ),
    DataSetInfo(
        id="leukemia",
        name="Leukemia",
        summary="two kinds of leukemia by the expression of 7,129 genes",
        kind="binary",
        loader="loaders.tables:leukemia",
        paper=YU,
        size="38 + 34 x 7,129, 2 classes",
        description="Gene expression of patients with acute myeloid (+1) or lymphoblastic leukemia: far "
        "more features than samples. Scaled as LIBSVM's leu: mean 0 and variance 1 for each sample, "
        "then for each gene.",
        source="Golub et al. 1999; "
        "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html#leukemia",
        splits=("given", "random"),
        scale="sample-standard",
        files=(DataFile("leukemia/leukemia.npz"),),
        lams=(Lam(0.05, 11, 7129, 0.941),),
    ),
    DataSetInfo(
        id="covtype",
        name="Covertype",
        summary="kinds of forest by soil, height and slope",
        kind="multiclass",
        loader="loaders.tables:covtype",
        paper=YU,
        size="581,012 x 54, 7 classes",
        description="Patches of forest of 30 x 30 metres: ten measurements, four areas and forty kinds "
        "of soil. positive=Lodgepole Pine is the usual binary task. Features are scaled to [0, 1].",
        source="https://archive.ics.uci.edu/dataset/31/covertype, as scikit-learn's fetcher has it",
        terms="CC BY 4.0 (UCI)",
        splits=("random", "none"),
        scale="minmax",
        files=(
            # address and digest as in scikit-learn's fetcher
            DataFile(
                "covtype/covtype.data.gz",
                "https://ndownloader.figshare.com/files/5976039",
                "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
            ),
        ),
    ),
    DataSetInfo(
        id="scene",
        name="Scene",
        summary="photographs of scenery with one or more labels",
        kind="multilabel",
        loader="loaders.tables:scene",
        paper=YU,
        size="1,211 + 1,196 x 294, 6 labels",
        description="Colour moments of photographs; labels are beach, sunset, fall foliage, field, "
        "mountain and urban.",
        source=f"{MULAN} (Boutell et al. 2004)",
        splits=("given", "random"),
        files=(DataFile("scene/scene-train.csv.gz"), DataFile("scene/scene-test.csv.gz")),
        lams=(Lam(0.01, 280, 1764, 0.910),),
    ),
    DataSetInfo(
        id="yeast",
        name="Yeast",
        summary="functions of yeast genes",
        kind="multilabel",
        loader="loaders.tables:yeast",
        size="1,500 + 917 x 103, 14 labels",
        description="Micro-array expression and phylogenetic profiles of genes, each with about four "
        "functional classes.",
        source=f"{MULAN} (Elisseeff and Weston 2001)",
        splits=("given", "random"),
        files=(DataFile("yeast/yeast-train.csv.gz"), DataFile("yeast/yeast-test.csv.gz")),
        lams=(Lam(0.02, 485, 1442, 0.659),),
    ),
    DataSetInfo(
        id="tmc2007",
        name="TMC2007",
        summary="aviation safety reports and their problems",
        kind="multilabel",
        loader="loaders.tables:tmc2007",
        paper=YU,
        size="28,596 x 500, 22 labels",
        description="Which of 500 selected words occur in a report; labels are 22 kinds of problems in "
        "flight.",
        source=f"{MULAN} (SIAM Text Mining Competition 2007)",
        terms="none stated (NASA ASRS reports, public)",
        splits=("random", "none"),
        files=(DataFile("tmc2007_500/tmc2007_500.npz"),),
        lams=(Lam(5e-3, 2555, 11_000, 0.960),),
    ),
)
