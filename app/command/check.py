"""The command ``check``: checks of a plug-in, reported to people, programs and graders."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

from solverscope import datasets, solvers
from solverscope.solvers.compute.atomic_files import replacing

from .. import plugins
from ..settings.experiment import Experiment
from ..settings.settings_table import FINDING, FINDING_SUFFIX
from . import streams
from .exit_status import FINISHED, FOUND
from .progress_bar import ProgressBar

#: The URL of the page that `solverscope serve` opens by default.
PAGE = "http://localhost:5006/app"
#: Registries to which a plug-in may add, and the noun for an entry.
CHECKED_TABLES = (
    (solvers.SOLVERS, "solver"),
    (solvers.LOSSES, "loss"),
    (solvers.PENALTIES, "penalty"),
    (datasets.DATASETS, "data set"),
)


def execute(
    file: str,
    chosen: Sequence[str],
    twin: str | None,
    *,
    as_json: bool,
    junit: Path | None,
    progress: ProgressBar,
) -> int:
    """Check what a file registers, or only the ``chosen`` solvers; return the exit status.

    Raises ValueError if there is nothing to check.
    """
    made = _registered_by(Path(file))
    if chosen:
        made = [_solver(text) for text in chosen]
    if not made:
        raise ValueError(f"{file} registers nothing: write @solvers.register above the class")
    companion = None if twin is None else _solver(twin)
    folder, reports = Path(f"{Path(file).stem}.check"), []
    for thing in made:
        with progress.working(f"checking {thing.id}") as show:
            report = _check(thing, companion, lambda text, show=show: show(text, None))
        reports.append(report)
        records = [_described(file, thing, finding, folder) for finding in report.findings]
        if as_json:
            streams.put_json([*records, report.describe()])
        else:
            _show(report, records)
    if junit is not None:
        _write_junit(junit, reports)
    return FOUND if any(report.findings for report in reports) else FINISHED


def _registered_by(path: Path) -> list[Any]:
    """Load a plug-in and return what it has registered: data sets are loaded, all else has its defaults."""
    before = [set(table) for table, _ in CHECKED_TABLES]
    plugins.load_file(path)
    found: list[Any] = []
    for (table, noun), old in zip(CHECKED_TABLES, before, strict=True):
        for id, entry in table.items():
            if id not in old:
                found.append(datasets.load(id) if noun == "data set" else entry())
    return found


def _solver(text: str) -> solvers.Solver:
    from ..settings.arguments import choices

    (choice,) = choices([text])
    return solvers.make_solver(choice.id, **choice.params)


def _check(thing: Any, twin: solvers.Solver | None, say: Any) -> solvers.CheckReport:
    if isinstance(thing, solvers.Solver):
        return solvers.check_solver(thing, twin=twin, say=say)
    if isinstance(thing, solvers.Loss):
        return solvers.check_loss(thing)
    if isinstance(thing, solvers.Penalty):
        return solvers.check_penalty(thing)
    return solvers.check_dataset(thing)


def _described(file: str, thing: Any, finding: solvers.CheckFailure, folder: Path) -> dict[str, Any]:
    """Return the record of a finding, with commands that reproduce it; write its data into the folder."""
    record = finding.describe() | {"command": None, "serve": None, "address": None}
    case = finding.case
    if case is None or not isinstance(thing, solvers.Solver) or not case.savable:
        return record
    folder.mkdir(exist_ok=True)
    data = folder / f"{finding.check}.npz"
    case.save(data)
    data.with_suffix(FINDING_SUFFIX).write_text(f"{finding}\n", encoding="utf-8")
    commands = commands_of(file, thing, case, data, finding.iteration)
    return record | commands


def commands_of(
    file: str, solver: solvers.Solver, case: solvers.CheckCase, data: Path, iteration: int
) -> dict[str, str]:
    """Return commands that reproduce a case, and the URL of the page that shows it.

    One command runs the solver on the case up to ``iteration``, and another one serves the page.
    """
    problem, kind = case.problem(), solvers.LOSSES[case.loss].kinds
    labels = next(one for one in ("binary", "multiclass", "multilabel", "regression") if _is(one, kind))
    values = {p.name: getattr(solver, p.name) for p in solvers.parameters(type(solver))}
    usual = {p.name: p.default for p in solvers.parameters(type(solver))}
    params = [f"{name}={value}" for name, value in values.items() if value != usual[name]]
    condition = f"iteration >= {max(iteration, 0)}"
    experiment = Experiment.from_arguments(
        f"npz:{data}",
        [",".join([solver.id, *params])],
        options=["scale=none", "split=none", f"kind={labels}"],
        loss=case.loss,
        penalty=case.penalty,
        lam=None if problem.lam is None else repr(problem.lam),
        average=case.average,
        breaks=[condition],
    )
    said = experiment.address()
    shown = {name: said[name] for name in ("options", "loss", "penalty", "lam", "solvers") if said.get(name)}
    address = {"data": datasets.own_id(f"npz:{data}"), **shown, "break": condition, FINDING: data.stem}
    plugin = ["--plugin", file]
    return {
        "command": shlex.join(["solverscope", *experiment.arguments(), *plugin]),
        "serve": shlex.join(["solverscope", "serve", *plugin, "--data", f"npz:{data}"]),
        "address": f"{PAGE}?{urlencode(address)}",
    }


def _is(kind: str, kinds: Sequence[str]) -> bool:
    return kind in kinds or (kind == "regression" and "multitask" in kinds)


def _show(report: solvers.CheckReport, records: Sequence[dict[str, Any]]) -> None:
    """Print a report for people."""
    count = f"{len(records)} finding{'s' * (len(records) != 1)}"
    passed = f"{len(report.passed)} checks passed"
    if report.inapplicable:
        passed += f", {len(report.inapplicable)} do not apply"
    lines = [f"{report.tested}: {count}, {passed} in {report.seconds:.1f} s"]
    if report.problems:
        lines.append(f"   tried on {', '.join(report.problems)}")
    for k, (record, finding) in enumerate(zip(records, report.findings, strict=True), 1):
        where = "" if finding.iteration < 0 else f" at iteration {finding.iteration}"
        lines += ["", f"{k}. {finding.quantity}{where}: {finding.sentence}", f"   should be: {finding.claim}"]
        if finding.case is not None:
            lines.append(f"   problem: {finding.case}")
        if record["command"] is not None:
            lines.append(f"   run it: {record['command']}")
            lines.append(f"   see it: {record['serve']}, then {record['address']} and Run")
    if report.inapplicable:
        lines += ["", "do not apply:"]
        for reason in dict.fromkeys(report.inapplicable.values()):
            names = [name for name, why in report.inapplicable.items() if why == reason]
            lines.append(f"   {', '.join(names)}: {reason}")
    if report.suggestion:
        lines += ["", report.suggestion]
    if report.left:
        lines += ["", f"not checked, for lack of time: {', '.join(report.left)}"]
    streams.put("\n".join(lines) + "\n")


def _write_junit(path: Path, reports: Sequence[solvers.CheckReport]) -> None:
    """Write a file in JUnit's format, for graders, with a test case for each check."""
    root = ElementTree.Element("testsuites")
    for report in reports:
        skipped = report.inapplicable | dict.fromkeys(report.left, "no time was left")
        names = [*report.passed, *skipped, *(finding.check for finding in report.findings)]
        failed = {finding.check: finding for finding in report.findings}
        counts = {"tests": len(names), "failures": len(failed), "skipped": len(skipped)}
        attributes = {name: str(count) for name, count in counts.items()}
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": report.tested, **attributes, "time": f"{report.seconds:.3f}"}
        )
        for name in names:
            case = ElementTree.SubElement(suite, "testcase", {"classname": report.tested, "name": name})
            if name in failed:
                finding = failed[name]
                failure = ElementTree.SubElement(case, "failure", {"message": finding.sentence})
                failure.text = str(finding)
            elif name in skipped:
                ElementTree.SubElement(case, "skipped", {"message": skipped[name]})
    with replacing(path, "wb") as out:
        out.write(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))
