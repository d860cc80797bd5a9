"""The ℓ1 chain CRF on a text: CoNLL-2000 with rich features, Prox-QN against OWL-QN and CRFsuite.

    pytest -m bench tests/benchmarks/test_conll.py -s

Needs the data (SOLVERSCOPE_DATA). CPU seconds of one thread; CRFsuite takes some four minutes.
"""

from __future__ import annotations

import numpy as np
import pytest

from solverscope import datasets
from tests.benchmarks.crf_race import Race
from tests.benchmarks.report import Report

pytestmark = pytest.mark.bench

#: The best objective known at λ = 1, from runs to a gap of 1e-6 of each other.
RACE = Race("conll2000", 1.0, 19365.75)
GAPS = (1e-1, 1e-2, 1e-3, 1e-4)


def test_prox_qn_on_a_text_is_well_before_crfsuite() -> None:
    available, reason = datasets.DATASETS["conll2000"].available()
    if not available:
        pytest.skip(f"the CoNLL-2000 data is not available: {reason}")
    report = Report("CoNLL-2000, λ = 1: seconds to a gap")
    ours = {
        "prox-qn": RACE.ours("prox-qn", 1e-4),
        "prox-qn from zero": RACE.ours("prox-qn", 1e-3, start="none"),
        "prox-qn from zero, the paper's memory, sweeps and γ": RACE.ours(
            "prox-qn", 1e-3, start="none", memory=10, max_inner=10, gamma="ys/ss"
        ),
        "owl-qn": RACE.ours("owl-qn", 1e-2),
    }
    curves = {name: (run["cpu_seconds"], run["objective"]) for name, run in ours.items()}
    curves["CRFsuite"] = tuple(zip(*RACE.crfsuite(1e-2, 600.0), strict=True))
    rows = [
        [name, *(RACE.time_to(gap, *curve) for gap in GAPS), len(curve[0]) - 1]
        for name, curve in curves.items()
    ]
    report.table("CPU seconds of one thread", ["solver", *map(str, GAPS), "iterations"], rows)
    report.note(f"prox-qn: {ours['prox-qn']['mib']:.0f} MiB beyond imports.")
    away = {name: (seconds, np.asarray(f) / RACE.f_star - 1) for name, (seconds, f) in curves.items()}
    report.curves("Distance from the optimum", "CPU seconds", "(f - f*)/f*", away)
    report.write("conll2000.html")
    at_2, at_3 = (RACE.time_to(gap, *curves["prox-qn"]) for gap in (1e-2, 1e-3))
    rival = RACE.time_to(1e-2, *curves["CRFsuite"])
    assert rival is None or rival >= 8.0 * at_2
    assert at_3 <= 40.0
