"""Damaged files and senseless command lines by the ten thousands: a result, or one clear sentence.

SOLVERSCOPE_FUZZ sets how many files (default 50,000, and a twenty-fifth as many command lines), from
SOLVERSCOPE_FUZZ_SEED; each file is below 1 MB and may take 2 s of CPU time and 500 MB.

    pytest -m bench tests/benchmarks/test_fuzz.py -s
"""

from __future__ import annotations

import bz2
import collections
import gzip
import io
import lzma
import os
import resource
import struct
import time
import traceback
import zipfile
from pathlib import Path

import numpy as np
import pytest

from solverscope import datasets
from solverscope.app.command.cli import main
from solverscope.datasets import DataError
from solverscope.datasets.loaders import ocr
from solverscope.datasets.readers import arff, columns, delimited, files, hierarchy, idx, npz, svmlight, table

pytestmark = pytest.mark.bench

FILES = int(os.environ.get("SOLVERSCOPE_FUZZ", "50000"))
SEED = int(os.environ.get("SOLVERSCOPE_FUZZ_SEED", "0"))
MOST_SECONDS, MOST_BYTES, LARGEST = 2.0, 500 << 20, 1 << 20


def zipped(data):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", data)
    return stream.getvalue()


def saved(compress, **arrays):
    stream = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(stream, **arrays)
    return stream.getvalue()


PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zip": zipped}
CSR = {
    "data": np.ones(3),
    "indices": np.array([0, 2, 1]),
    "indptr": np.array([0, 2, 3]),
    "shape": np.array([2, 3]),
}
OCR_LINE = b"1\to\t2\t1\t1\t0\t" + b"0\t1\t" * 64 + b"\n"
SVMLIGHT = b"+1 1:0.5 3:2e-3 # comment\r\n-1,2 2:1\n\n1 qid:3 1:1\n"
CSV = b'name,"size",label\r\n"a, b",2.5,x\r\nc,-3e4,y\n\nd,1,x'
TAGGED = b"John NNP B-PER\nlives VBZ O\n\nhere RB O\n"
LSHTC = b"3 1:2 4:1\n4 2:1\n6 1:1\n"


def read_ocr(path):
    return ocr.parse(path, files.read_bytes(path))


def own(scheme, **options):
    def load(path):
        above = f",{path.parent / 'tree'}" if scheme == "lshtc" else ""
        return datasets.load(f"{scheme}:{path}{above}", **options)

    return load


READERS = {
    "svmlight": (svmlight.read, SVMLIGHT),
    "table": (table.read, b"1,2.5,-3e4\r\n4,5,6\n\n7,8,9"),
    "text": (lambda path: table.read(path, text_column=0), b"A,2.5,-3e4\r\nB,5,6\n"),
    "arff": (
        arff.read,
        b"@relation r\n@attribute a numeric\n@attribute c hierarchical 1,1/2\n@data\n1,1@1/2\n",
    ),
    "columns": (columns.read, TAGGED),
    "hierarchy": (hierarchy.read, b"1 2 3\n1 2 4\n5 6\n"),
    "idx": (idx.read, b"\0\0\x08\x02" + struct.pack(">2i", 2, 3) + bytes(6)),
    "npz": (npz.read_csr, saved(True, **CSR)),
    "npz-plain": (npz.read_csr, saved(False, **CSR)),
    "ocr": (read_ocr, OCR_LINE + OCR_LINE.replace(b"\t2\t1", b"\t-1\t1")),
    "own-svmlight": (own("svmlight"), SVMLIGHT),
    "own-unit": (own("svmlight", scale="unit", split="random", degree=2), SVMLIGHT),
    "csv": (delimited.read, CSV),
    "own-csv": (own("csv"), CSV),
    "npz-samples": (npz.read_samples, saved(True, X=np.eye(3), y=np.arange(3))),
    "own-columns": (own("columns"), TAGGED),
    "own-lshtc": (own("lshtc"), LSHTC),
}
PIECES = [b"\0", b"\r\n", b"\xef\xbb\xbf", b"\t", b" ", b"#", b"%", b"\n", b":", b",", b"@", b"nan", b"1e999"]
PIECES += [b"-", b"{", b"1000000000000:1", b"20000000:1", b"\xff\xfe", b"99999999999999999999", b"0" * 40]
PIECES += [b"x" * 3000, b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"\x93NUMPY", b"'descr'", b"(", b"1,"]


def damaged(rng, whole):
    """The file with some bytes cut, changed, inserted, repeated or dropped."""
    data = bytearray(whole)
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(0, len(data) + 1))
        action = rng.integers(7)
        if action == 0:
            del data[place:]
        elif action in (1, 2) and place < len(data):
            data[place] = rng.integers(256)
        elif action == 3:
            data[place:place] = PIECES[rng.integers(len(PIECES))]
        elif action == 4:
            data[place:place] = data[max(place - 20, 0) : place] * int(rng.integers(1, 50))
        elif action == 5:
            del data[place : place + int(rng.integers(1, 10))]
        else:  # a file of some size
            times = (
                int(rng.integers(1, 1 + LARGEST // 8 // max(len(data), 1))) if rng.integers(20) == 0 else 1
            )
            data = data * times
    return bytes(data[:LARGEST])


def resident():
    """Bytes of memory in use now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.fixture
def bounded():
    """No more memory than now and 500 MB; a reader that asks for more fails."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MOST_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def clear(message, name):
    """Whether a message is one sentence with this name in it."""
    return "\n" not in message and len(message) < 400 and message.endswith(".") and name in message


def tell(title, found):
    print(f"\n{title}: {sum(found.values()):,} tried")
    for what, count in found.most_common():
        print(f"  {count:7,}  {what}")


def test_damaged_files_get_one_clear_sentence(tmp_path, request):
    rng = np.random.default_rng(SEED)
    (tmp_path / "tree").write_text("1 2 3\n1 2 4\n5 6\n")
    for read, whole in READERS.values():  # compile before memory is bounded
        (tmp_path / "whole").write_bytes(whole)
        read(tmp_path / "whole")
    request.getfixturevalue("bounded")
    found, wrong, slowest = collections.Counter(), [], 0.0
    for k in range(FILES):
        format = [*READERS][rng.integers(len(READERS))]
        packer = [*PACKERS][rng.integers(len(PACKERS))] if not format.startswith("npz") else ""
        read, whole = READERS[format]
        data = damaged(rng, whole)
        if packer:
            data = PACKERS[packer](data)
            data = damaged(rng, data) if rng.integers(2) else data
        path = tmp_path / f"given-42{packer}"
        path.write_bytes(data)
        began = time.process_time()
        try:
            read(path)
            outcome = "read"
        except DataError as error:
            # what does not fit the options of a set need not name the file
            name = "" if format.startswith("own") else "given-42"
            outcome = "refused" if clear(str(error), name) else f"unclear in {format}: {error}"
        except Exception as error:
            outcome = f"{type(error).__name__} in {format}{packer}: {error}"
            outcome += f" ({traceback.extract_tb(error.__traceback__)[-1]})"
        took = time.process_time() - began
        slowest = max(slowest, took)
        if took > MOST_SECONDS:
            outcome = f"{took:.1f} s in {format}"
        found[outcome.split("'")[0][:200]] += 1
        if outcome not in ("read", "refused"):
            wrong.append((k, outcome))
    tell("files", found)
    print(f"  slowest {slowest:.2f} s of CPU time")
    assert wrong == []


TEXT = """
run path list digits digit-strings breast-cancer synthetic-chain svmlight: - --solver prox-qn owl-qn a=prox-gd
prox-qn,memory=5 sgd-l1,eta=x bcd-ls --tol 1e-3 --gap --f-star auto --lam 0.1 -1 nan inf 1e400 --lam-ratio 0.5
--json --max-iter 1 --max-seconds 0.1 --seed 0 7 --threads 2 --loss logistic multiclass-logistic chain-crf
--penalty l1 l2 l1-l2 none --option positive=3 n_samples=20 degree=2 scale=unit test=a = a= =b --set memory=3
--loss-set --penalty-set rho=0.5 --average --sum --lams 1,0.1 --n-lams 2 --ratio-to --plugin no.py --out x.csv
no/x.npz datasets solvers stories --help -- é --iterates --no-iterates ٣ 1_0 0x10 { %s
"""
WORDS = [*TEXT.split(), "", "\0", "a\nb", "\x1b[31m", "\udcff", "x" * 5000]
BEGINNINGS = [
    ["run", "digits", "--solver", "prox-qn", "--max-iter", "1"],
    ["run", "breast-cancer", "--solver", "prox-gd", "--max-iter", "1", "--json"],
    ["path", "digits", "--solver", "prox-qn", "--max-iter", "1", "--n-lams", "2"],
    ["list"],
    [],
]


def test_senseless_command_lines_get_one_clear_sentence(tmp_path, capfd, monkeypatch):
    rng = np.random.default_rng(SEED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOLVERSCOPE_HOME", str(tmp_path / "home"))
    found, wrong = collections.Counter(), []
    for k in range(max(FILES // 25, 1)):
        beginning = BEGINNINGS[rng.integers(len(BEGINNINGS))]
        words = beginning + [WORDS[i] for i in rng.integers(len(WORDS), size=rng.integers(0, 7))]
        if beginning and beginning[0] != "list":  # whatever the words say, no run is to last
            words += ["--max-seconds", "0.2"]
        try:
            status = main(words)
        except BaseException as error:
            status = f"{type(error).__name__}: {error}"
        said = capfd.readouterr().err
        if status == 2 and not (said.startswith("solverscope: ") and said.count("\n") == 1):
            status = f"unclear: {said!r}"
        if "Traceback" in said:
            status = f"traceback: {said[-300:]}"
        found[str(status)] += 1
        if status not in (0, 2, 3):
            wrong.append((k, words, status))
    with capfd.disabled():
        tell("command lines", found)
    assert wrong == []
