import subprocess
import sys
from pathlib import Path

import pytest

from solverscope import datasets

ROOT = Path(__file__).parents[3]
NO_DOWNLOAD = (
    "digits digit-strings digits-tree breast-cancer "
    "synthetic-text synthetic-chain synthetic-tree synthetic-multilabel"
)
FROM_FILES = (
    "ocr reuters reuters-r8 conll2002 conll2000 news20 mnist usps letter a9a w8a leukemia scene yeast "
    "tmc2007 "
    "imclef07 enron lshtc-dryrun rcv1 real-sim covtype protein sector amazon7"
)


def test_the_sets_of_the_contract_are_there():
    assert set(datasets.DATASETS) >= {*NO_DOWNLOAD.split(), *FROM_FILES.split()}
    for scheme in ("svmlight:x", "csv:x", "npz:x", "columns:x", "lshtc:x,y"):
        assert datasets.describe(scheme).id == scheme


@pytest.mark.parametrize("id", NO_DOWNLOAD.split())
def test_sets_that_need_no_file_are_available(id):
    assert datasets.describe(id).available() == (True, None)
    assert datasets.describe(id).file is None


@pytest.mark.parametrize("id", FROM_FILES.split())
def test_sets_from_files_say_what_to_do(id, monkeypatch, tmp_path):
    monkeypatch.setenv("SOLVERSCOPE_DATA", str(tmp_path))
    entry = datasets.describe(id)
    available, reason = entry.available()
    assert not available
    assert entry.file in reason
    assert str(tmp_path) in reason


@pytest.mark.parametrize("id", [*NO_DOWNLOAD.split(), *FROM_FILES.split()])
def test_an_entry_tells_everything_before_it_is_loaded(id):
    entry = datasets.describe(id)
    for text in (entry.name, entry.summary, entry.size, entry.description, entry.source, entry.terms):
        assert text.strip()
    assert entry.description.endswith((".", "?"))
    assert len({option.name for option in entry.options}) == len(entry.options)
    for option in entry.options:
        assert option.help
        assert option.parse(option.default) == option.default
    for preset in entry.presets:
        entry.parse({"preset": preset})


def test_addresses_come_with_checksums():
    files = [file for entry in datasets.DATASETS.values() for file in entry.files]
    assert all((file.url is None) == (file.sha256 is None) for file in files)
    assert all(len(file.sha256) == 64 for file in files if file.sha256)


def test_files_and_kinds_depend_only_on_options_that_exist():
    for entry in datasets.DATASETS.values():
        effective = entry.parse({})
        for when in [file.when for file in entry.files] + [when for when, _ in entry.kinds]:
            for term in filter(None, when.split(",")):
                name, _, value = term.partition("=")
                assert name in effective
                entry.parse({name: value})


def test_listing_loads_no_numerical_library():
    code = (
        "import sys, datasets; [e.available() for e in datasets.DATASETS.values()]; "
        "print(sorted({'numpy', 'scipy', 'sklearn', 'numba', 'panel', 'pooch'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
