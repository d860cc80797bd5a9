"""Sets in the svmlight format, mostly from LIBSVM's collection."""

from typing import Any

from ..entry import DataSetInfo, Lam
from ..options import Option
from ..store import DataFile
from .papers import BLONDEL, YU

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
FIGSHARE = "https://ndownloader.figshare.com/files"


def _rows(id: str, kind: str, files: tuple[str, ...], source: str = "", **more: Any) -> DataSetInfo:
    """Return the entry of rows with one label each: a training file and, where there is one, a test file."""
    return DataSetInfo(
        id=id,
        kind=kind,
        loader=f"loaders.libsvm:{kind}",
        source=source or f"{LIBSVM}/{kind}.html#{id}",
        splits=("given", "random") if len(files) > 1 else ("random", "none"),
        files=tuple(DataFile(f"{id}/{file}") for file in files),
        **more,
    )


SETS = (
    _rows(
        "a9a",
        "binary",
        ("a9a.gz", "a9a.t.gz"),
        name="a9a",
        summary="who earns more than 50,000 dollars a year (UCI Adult)",
        paper=YU,
        size="32,561 + 16,281 x 123, 2 classes",
        description="Census records as 123 binary features; +1 earns more than 50,000 dollars a year.",
        terms="CC BY 4.0 (UCI Adult)",
        lams=(Lam(1e-3, 39, 123, 0.849),),
    ),
    _rows(
        "w8a",
        "binary",
        ("w8a.gz",),
        f"{LIBSVM}/binary.html#w8a (Platt 1998)",
        name="w8a",
        summary="does a web page belong to a category?",
        size="49,749 x 300, 2 classes",
        description="Which of 300 keywords occur in a web page; three pages in a hundred are +1.",
        lams=(Lam(5e-5, 210, 300, 0.902),),
    ),
    _rows(
        "real-sim",
        "binary",
        ("real-sim.bz2",),
        name="real-sim",
        summary="real against simulated cars and aviation in newsgroups",
        paper=YU,
        size="72,309 x 20,958, 2 classes",
        description="Newsgroup messages as tf-idf words; are they about real or about simulated things?",
    ),
    _rows(
        "protein",
        "multiclass",
        ("protein.bz2", "protein.t.bz2"),
        name="Protein",
        summary="secondary structure of proteins",
        paper=YU,
        size="17,766 + 6,621 x 357, 3 classes",
        description="Windows of amino acids; the class is helix, sheet or coil at the middle.",
    ),
    _rows(
        "sector",
        "multiclass",
        ("sector.scale.bz2", "sector.t.scale.bz2"),
        name="Sector",
        summary="web pages of 105 industry sectors",
        paper=BLONDEL,
        size="6,412 + 3,207 x 55,197, 105 classes",
        description="Web pages of companies by their words, scaled; the class is the sector of industry.",
    ),
    _rows(
        "amazon7",
        "multiclass",
        ("amazon7.svm.gz",),
        "M. Dredze et al. 2008, hashed as in Blondel et al. 2013",
        name="Amazon7",
        summary="product reviews of seven departments",
        paper=BLONDEL,
        size="1,362,109 x 262,144, 7 classes",
        description="Reviews of books, DVDs, electronics and more as hashed words; a file in the "
        "svmlight format.",
    ),
    DataSetInfo(
        id="rcv1",
        name="RCV1",
        summary="Reuters news of 1996 and 1997 with their topics",
        kind="binary",
        loader="loaders.libsvm:rcv1",
        paper=f"{YU}; {BLONDEL}",
        size="47,236 words; binary 20,242 + 677,399, multiclass 15,564 + 518,571 (53), multilabel "
        "23,149 + 781,265 (103)",
        description="Newswire as tf-idf words. Binary: corporate and economic against other news; "
        "multiclass: single topics; multilabel: all topics (the test part is four large files; "
        "split=random splits the training file).",
        source=f"{LIBSVM}/binary.html#rcv1.binary; multilabel: D. D. Lewis et al. 2004, as "
        "scikit-learn's fetcher has it",
        terms="research use with acknowledgement",
        own=(
            Option(
                "task",
                "binary",
                "what the labels are",
                choices=("binary", "multiclass", "multilabel"),
                title="kind of labels",
            ),
        ),
        kinds=(("task=multiclass", "multiclass"), ("task=multilabel", "multilabel")),
        splits=("given", "random"),
        files=(
            DataFile("rcv1/rcv1_train.binary.bz2", when="task=binary"),
            DataFile("rcv1/rcv1_test.binary.bz2", when="task=binary"),
            DataFile("rcv1/rcv1_train.multiclass.bz2", when="task=multiclass"),
            DataFile("rcv1/rcv1_test.multiclass.bz2", when="task=multiclass"),
            # addresses and digests as in scikit-learn's fetcher
            DataFile(
                "rcv1/rcv1v2.topics.qrels.gz",
                f"{FIGSHARE}/5976048",
                "2a98e5e5d8b770bded93afc8930d88299474317fe14181aee1466cc754d0d1c1",
                when="task=multilabel",
            ),
            DataFile(
                "rcv1/lyrl2004_vectors_train.dat.gz",
                f"{FIGSHARE}/5976057",
                "5468f656d0ba7a83afc7ad44841cf9a53048a5c083eedc005dcdb5cc768924ae",
                when="task=multilabel",
            ),
            DataFile(
                "rcv1/lyrl2004_vectors_test_pt0.dat.gz",
                f"{FIGSHARE}/5976069",
                "ed40f7e418d10484091b059703eeb95ae3199fe042891dcec4be6696b9968374",
                when="task=multilabel,split=given",
            ),
            DataFile(
                "rcv1/lyrl2004_vectors_test_pt1.dat.gz",
                f"{FIGSHARE}/5976066",
                "87700668ae45d45d5ca1ef6ae9bd81ab0f5ec88cc95dcef9ae7838f727a13aa6",
                when="task=multilabel,split=given",
            ),
            DataFile(
                "rcv1/lyrl2004_vectors_test_pt2.dat.gz",
                f"{FIGSHARE}/5976063",
                "48143ac703cbe33299f7ae9f4995db49a258690f60e5debbff8995c34841c7f5",
                when="task=multilabel,split=given",
            ),
            DataFile(
                "rcv1/lyrl2004_vectors_test_pt3.dat.gz",
                f"{FIGSHARE}/5976060",
                "dfcb0d658311481523c6e6ca0c3f5a3e1d3d12cde5d7a8ce629a9006ec7dbb39",
                when="task=multilabel,split=given",
            ),
        ),
    ),
)
