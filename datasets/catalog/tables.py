"""Sets of rows with measured or coded features."""

from ..entry import DataSetInfo

SETS = (
    DataSetInfo(
        id="breast-cancer",
        name="Breast cancer",
        summary="569 tumours, malignant or benign",
        kind="binary",
        loader="loaders.embedded:breast_cancer",
        size="569 x 30, 2 classes",
        description="Thirty measurements of cell nuclei seen in needle aspirates of breast masses; "
        "malignant is +1. Features "
        "are standardized with the training part's means and deviations.",
        source="UCI, Breast Cancer Wisconsin (Diagnostic), as in scikit-learn",
        terms="CC BY 4.0 (UCI)",
        splits=("random", "none"),
        scale="standard",
    ),
)
