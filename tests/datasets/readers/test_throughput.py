"""Readers run at tens of megabytes a second, measured in CPU seconds once their kernels are compiled."""

import time

import numpy as np
import pytest

from solverscope.datasets.readers import arff, columns, delimited, svmlight, table


def svmlight_text(rng):
    rows = (
        f"{i % 5} "
        + " ".join(f"{j}:{v:.4f}" for j, v in zip(range(1, 5000, 50), rng.random(100), strict=True))
        for i in range(8000)
    )
    return "\n".join(rows)


def table_text(rng):
    return "\n".join(",".join(f"{v:.6f}" for v in row) for row in rng.random((20_000, 40)))


def csv_text(rng):
    rows = (",".join(f"{v:.6f}" for v in row) for row in rng.random((20_000, 40)))
    return "\n".join(f'{row},"text {i % 9}",{i % 3}' for i, row in enumerate(rows))


def arff_text(rng):
    head = "".join(f"@attribute a{j} numeric\n" for j in range(80))
    rows = "\n".join(",".join(map(str, row)) + ",1/2" for row in rng.integers(0, 8, (40_000, 80)))
    return f"@relation r\n{head}@attribute class hierarchical 1,1/2\n@data\n{rows}\n"


def columns_text(rng):
    words = [f"word{k}" for k in rng.zipf(1.3, 400_000) % 30_000]
    return "".join(f"{word} NN B-X\n" + "\n" * (i % 25 == 0) for i, word in enumerate(words))


@pytest.mark.bench
@pytest.mark.parametrize(
    ("read", "make"),
    [
        (svmlight.read, svmlight_text),
        (table.read, table_text),
        (delimited.read, csv_text),
        (arff.read, arff_text),
        (columns.read, columns_text),
    ],
)
def test_a_reader_runs_at_tens_of_megabytes_a_second(tmp_path, read, make, record_property):
    path = tmp_path / "file"
    path.write_text(make(np.random.default_rng(0)))
    read(path)
    seconds = []
    for _ in range(3):
        began = time.process_time()
        read(path)
        seconds.append(time.process_time() - began)
    rate = path.stat().st_size / 1e6 / min(seconds)
    record_property("megabytes_a_second", rate)
    print(f"{make.__name__}: {rate:.0f} MB/s")
    assert rate > 10
