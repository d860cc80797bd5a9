"""Sets whose files are not available, from small files in their formats; damaged files of every set."""

import bz2
import gzip
import io
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from solverscope import datasets
from solverscope.datasets import DataError

RNG = np.random.default_rng(0)
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress}


def packed(path, content):
    """What is in a file of this name, compressed as its ending says."""
    return PACKERS.get(Path(path).suffix, bytes)(content)


def npz(**arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def csr(X, prefix="", ones=False):
    X = scipy.sparse.csr_matrix(X)
    parts = {"indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    return {prefix + key: value for key, value in (parts | ({} if ones else {"data": X.data})).items()}


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}i", *array.shape) + array.tobytes()


def csv(rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows).encode()


def svm(labels, d=5, first=1):
    lines = [
        f"{label} " + " ".join(f"{j}:{(i + j) % 4 + 1}" for j in range(first, d + first))
        for i, label in enumerate(labels)
    ]
    return "\n".join(lines).encode()


def zipped(**files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/"), text)
    return stream.getvalue()


def tar(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    return stream.getvalue()


def arff(rows, nodes, columns=2):
    head = [
        "@relation r",
        *(f"@attribute a{j} numeric" for j in range(columns)),
        f"@attribute class hierarchical {nodes}",
    ]
    return "\r\n".join([*head, "@data", *rows, ""]).encode()


def mnist(part, n):
    """The first pictures and their labels."""
    return {
        f"{part}-images-idx3-ubyte.gz": idx(PIXELS[:n]),
        f"{part}-labels-idx1-ubyte.gz": idx(DIGITS[:n]),
    }


PIXELS = RNG.integers(0, 256, (12, 28, 28)).astype(np.uint8)
DIGITS = (np.arange(12) % 10).astype(np.uint8)
COUNTS = RNG.integers(0, 3, (8, 4))
MODAPTE = "newid\tsplit\ttopics\ttitle\tbody\n" + "".join(
    f"{i}\t{'train' if i % 3 else 'test'}\t{'grain' if i % 2 else 'earn acq'}\tTitle {i}\tthe body of "
    f"text{i % 4}\n"
    for i in range(12)
)
COVER = [[*RNG.integers(0, 9, 54), k % 7 + 1] for k in range(21)]
SENTENCE = "Ana NN B-PER\nvive VB O\n\nen IN O\nLima NN B-LOC\n"
MESSAGES = {
    f"20news-bydate-{part}/{group}/{i}": f"From: a\n\nwords of {group} and {i % 3} caf\u00e9".encode(
        "latin-1"
    )
    for part in ("train", "test")
    for group in ("sci.space", "rec.autos")
    for i in range(3)
}
TREE3 = "level3\tlevel2\tlevel1\tnewsgroup\n0\t0\t0\tcomp.a\n1\t0\t0\tcomp.b\n2\t1\t1\trec.c\n"
TREE1 = "class\tname\tparent\n-\tcomp\troot\n0\tcomp.a\tcomp\n1\tcomp.b\tcomp\n2\trec.c\troot\n"
LEVELS = {"level3": np.arange(8) % 3, "level2": np.arange(8) % 3 // 2, "level1": np.arange(8) % 3 // 2}
W1000 = {
    **csr(COUNTS, "train_"),
    **csr(COUNTS[:4], "test_"),
    "train_y": np.arange(8) % 3,
    "test_y": np.arange(4) % 3,
    "class_names": np.array(["comp.a", "comp.b", "rec.c"]),
    "vocab": np.array(["god gods", "car", "b", "c d e f"]),
}
TASK = b"3 0:1 5:2 9:1\n4 0:2 5:1\n6 0:3 7:4\n"
LYRL = {
    "rcv1/rcv1v2.topics.qrels.gz": b"E11 10 1\nECAT 10 1\nM14 20 1\nECAT 30 1\nM14 40 1\n",
    "rcv1/lyrl2004_vectors_train.dat.gz": b"10  1:0.5 3:0.25\n20  2:1\n",
    **{f"rcv1/lyrl2004_vectors_test_pt{i}.dat.gz": b"30  1:1\n40  4:1\n" for i in range(4)},
}
SETS = [
    # id, options, files before they are compressed
    ("usps", {}, {"usps/usps.bz2": svm(range(1, 11), 256), "usps/usps.t.bz2": svm([3, 4], 256)}),
    ("protein", {}, {"protein/protein.bz2": svm([0, 1, 2]), "protein/protein.t.bz2": svm([1])}),
    ("sector", {}, {"sector/sector.scale.bz2": svm([1, 2, 3]), "sector/sector.t.scale.bz2": svm([1])}),
    ("real-sim", {}, {"real-sim/real-sim": svm([1, -1] * 5)}),
    ("w8a", {}, {"w8a/w8a.gz": svm([1, -1] * 5)}),
    ("a9a", {}, {"a9a/a9a.gz": svm([1, -1]), "a9a/a9a.t": svm([1, -1], 7)}),
    ("amazon7", {}, {"amazon7/amazon7.svm": svm([1, 2, 3] * 4)}),
    ("rcv1", {}, {"rcv1/rcv1_train.binary": svm([1, -1]), "rcv1/rcv1_test.binary": svm([1, -1])}),
    (
        "rcv1",
        {"task": "multiclass"},
        {"rcv1/rcv1_train.multiclass": svm([1, 2, 3]), "rcv1/rcv1_test.multiclass": svm([1])},
    ),
    ("rcv1", {"task": "multilabel"}, LYRL),
    ("covtype", {}, {"covtype/covtype.data.gz": csv(COVER)}),
    ("scene", {}, {f"scene/scene-{p}.csv.gz": csv(RNG.integers(0, 2, (6, 9))) for p in ("train", "test")}),
    ("yeast", {}, {f"yeast/yeast-{p}.csv.gz": csv(RNG.integers(0, 2, (6, 17))) for p in ("train", "test")}),
    (
        "tmc2007",
        {},
        {"tmc2007_500/tmc2007_500.npz": npz(**csr(COUNTS > 0, ones=True), Y=np.eye(8, 3, dtype=np.uint8))},
    ),
    (
        "leukemia",
        {},
        {
            "leukemia/leukemia.npz": npz(
                X_train=RNG.integers(0, 99, (4, 5)),
                X_test=RNG.integers(0, 99, (2, 5)),
                y_train=np.array([1, -1, 1, -1]),
                y_test=np.array([1, -1]),
                gene=np.array(list("abcde")),
            )
        },
    ),
    ("mnist", {}, mnist("mnist_t10k/t10k", 12)),
    ("mnist", {"images": "all"}, mnist("mnist_t10k/t10k", 4) | mnist("mnist/train", 12)),
    ("reuters", {}, {"reuters21578/modapte.tsv": MODAPTE.encode()}),
    (
        "reuters-r8",
        {},
        {f"reuters_r8/r8-{p}-all-terms.txt": b"earn\ta b c\nacq\tb c d\n" for p in ("train", "test")},
    ),
    ("news20", {}, {"news20_w1000/news20_w1000.npz": npz(**W1000), "news20_w1000/tree.tsv": TREE1.encode()}),
    (
        "news20",
        {"form": "tree"},
        {
            "news20_tree/news20_tree.npz": npz(**csr(COUNTS), **LEVELS),
            "news20_tree/tree.tsv": TREE3.encode(),
            "news20_tree/vocab.txt.gz": b"a\nb\nc\nd\n",
        },
    ),
    ("news20", {"form": "sklearn"}, {"news20_raw/20news-bydate.tar.gz": tar(MESSAGES)}),
    (
        "conll2002",
        {},
        {"conll2002/conll2002.zip": zipped(**{f"conll2002__esp.{p}": SENTENCE for p in ("train", "testb")})},
    ),
    (
        "conll2000",
        {},
        {"conll2000/conll2000.zip": zipped(**{f"conll2000__{p}.txt": SENTENCE for p in ("train", "test")})},
    ),
    (
        "imclef07",
        {},
        {
            f"imclef07/ImCLEF07A_{p}.arff.gz": arff(["1,2,1@1/2", "3,4,1@1/3"], "1,1/2,1/3")
            for p in ("Train", "Test")
        },
    ),
    (
        "enron",
        {},
        {
            f"enron_hier/Enron_corr_{p}.arff.gz": arff(["1,0,1/2", "0,1,1/2@3"], "1,1/2,3")
            for p in ("trainvalid", "test")
        },
    ),
    (
        "lshtc-dryrun",
        {},
        {
            "lshtc1_dryrun/task1_validation.txt.gz": TASK,
            "lshtc1_dryrun/task1_test.txt.gz": TASK,
            "lshtc1_dryrun/cat_hier.txt.gz": b"1 2 3\n1 2 4\n5 6\n",
        },
    ),
]


def name(case):
    return "-".join([case[0], *case[1].values()])


@pytest.fixture
def at_hand(tmp_path, monkeypatch):
    """Puts files in a data folder, ``tmp_path``, compressed as their names say."""
    monkeypatch.setenv("SOLVERSCOPE_DATA", str(tmp_path))

    def put(files):
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(packed(path, content))

    return put


@pytest.mark.parametrize("case", SETS, ids=name)
def test_a_set_is_read_from_the_file_it_names(at_hand, case):
    id, options, files = case
    at_hand(files)
    data = datasets.load(id, **options)
    assert datasets.describe(id).available(**options) == (True, None)
    assert data.kind == datasets.describe(id).kind_of(**options)
    assert len(data.feature_names) == data.n_features
    assert data.test.X.shape[1] == data.n_features
    assert data.examples(2)


@pytest.mark.quick("a9a", "ocr", "conll2000", "reuters-r8", "enron")
@pytest.mark.parametrize("case", SETS, ids=name)
def test_damaged_files_of_a_set_get_one_clear_sentence(at_hand, tmp_path, case):
    """Each file cut, empty, with bytes changed, or replaced by another kind of file."""
    id, options, files = case
    rng = np.random.default_rng(1)
    for path, plain in files.items():
        at_hand(files)
        whole, texts = packed(path, plain), [b"", b"\n", b"1", b"1 2 3\n" * 5, b"a\tb\n" * 3, plain[:-1]]
        for _ in range(20):
            changed = bytearray(plain)
            for place in rng.integers(0, max(len(changed), 1), rng.integers(1, 4)) if changed else []:
                changed[place] = rng.choice([0, 10, 32, 44, 45, 49, 57, 58, 97, 255])
            texts.append(bytes(changed))
        for bad in (whole[: len(whole) // 2], whole[:-3], *(packed(path, text) for text in texts)):
            (tmp_path / path).write_bytes(bad)
            try:
                datasets.load(id, **options)
            except DataError as error:
                message = str(error)
        assert "\n" not in message
        assert message.endswith((".", "?"))


def test_usps_labels_are_digits(at_hand):
    at_hand(SETS[0][2])
    data = datasets.load("usps")
    assert (data.picture_shape, data.label_names) == ((16, 16), tuple("0123456789"))
    assert [data.label_names[code] for code in data.test.y] == ["2", "3"]


def test_mnist_has_the_training_pictures_where_they_are_asked_for(at_hand):
    at_hand(next(files for id, options, files in SETS if options == {"images": "all"}))
    assert [
        datasets.load("mnist", images="all").X.shape[0],
        datasets.load("mnist", split="none").X.shape[0],
    ] == [12, 4]
    pooled = datasets.load("mnist", images="all", split="none")
    assert pooled.X.shape[0] == 16
    np.testing.assert_allclose(pooled.X[:12].toarray() * 255, PIXELS.reshape(12, -1))


def test_rcv1_topics_are_matched_by_document(at_hand):
    at_hand(LYRL)
    data = datasets.load("rcv1", task="multilabel")
    assert data.label_names == ("E11", "ECAT", "M14")
    assert data.y.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]
    assert data.test.y.shape == (8, 3)
    assert data.X.toarray().tolist() == [[0.5, 0, 0.25, 0], [0, 1, 0, 0]]
    ecat = datasets.load("rcv1", task="multilabel", positive="ECAT")
    assert ecat.y.tolist() == [1, -1]


def test_raw_newsgroups_are_split_by_their_folders(at_hand):
    at_hand({"news20_raw/20news-bydate.tar.gz": tar(MESSAGES)})
    data = datasets.load("news20", form="sklearn", weighting="counts", scale="none")
    assert (data.X.shape[0], data.test.X.shape[0], data.label_names) == (6, 6, ("rec.autos", "sci.space"))
    assert {"space", "autos", "caf\u00e9"} <= set(data.feature_names)
    tree = datasets.load("news20", form="sklearn", labels="tree")
    assert set(tree.label_names) == {"all", "rec", "sci", "rec.autos", "sci.space"}


def test_the_tree_of_the_raw_groups_has_all_groups(at_hand):
    at_hand(next(files for id, options, files in SETS if (id, options) == ("news20", {})))
    tree = datasets.load("news20", labels="tree")
    assert [tree.label_names[p] for p in tree.parents[1:]] == ["all", "all", "comp", "comp"]
