"""An entry of the list of data sets: what is known of a set before anything is loaded."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import store
from .errors import DataError
from .limits import MAX_FEATURES
from .options import Option, holds
from .size import Size
from .store import DataFile, Progress

if TYPE_CHECKING:
    from .dataset import Content

LOSSES = {
    "binary": "logistic",
    "multiclass": "multiclass-logistic",
    "multilabel": "multilabel-squared-hinge",
    "sequences": "chain-crf",
    "tree": "tree-softmax",
    "function": "toy",
}
"""Default loss of each kind of labels."""

CHOOSING = ("split", "fold", "n_train", "test")
"""Options that choose which samples are trained on and which are held out: one λ is good for all."""

SCALES = ("none", "unit", "minmax", "standard", "sample-standard")
WEIGHTINGS = ("binary", "counts", "tf-idf")


@dataclass(frozen=True)
class Request:
    """Arguments of a loader: effective options, seed, a progress report and its files in order."""

    options: dict[str, Any]
    seed: int
    progress: Progress
    paths: tuple[Path, ...] = ()

    @property
    def test_file(self) -> tuple[Path, ...]:
        """Return the file of the test part, where the user named one beside an own file."""
        name = self.options.get("test")
        return (store.own_path(name),) if name else ()


@dataclass(frozen=True)
class Lam:
    """A λ for the set's own loss and penalty, and what comes of it.

    value     as the loss's paper counts: for a sum or for an average over samples
    nonzeros  non-zero weights of the solution, out of so many ``weights``
    metric    what the solution reaches on the test part (the loss says what is measured)
    when      values of options that it was chosen for, as in DataFile.when; all others are at their defaults,
              but those of CHOOSING
    paper     True where a paper gives the value; else it is the sparsest near the best metric along a path
    """

    value: float
    nonzeros: int
    weights: int
    metric: float
    when: str = ""
    paper: bool = False


@dataclass(frozen=True)
class DataSetInfo:
    """An entry of the list: what a set is, before anything is loaded.

    loader     "module:function" or a function of a Request that returns a Content
    size       samples, features and classes in words, for every form of the set
    own        the set's own options; `options` adds the common ones
    splits     how training and test part are made, the default first; "given" is the source's
    weighting  default weighting of word counts, None for anything but text
    scale      default scaling: one of SCALES, or a number that features are divided by
    files      what is looked for in the data folders; empty for sets that need none
    metric     a measure of its own, see `metrics`
    lams       λ for forms of the set: where none fits, λ is a share of the smallest whose solution is zero
    kinds      other kinds of labels: pairs of options, as in DataFile.when, and a kind; the first that holds
    presets    values of several options under one name, the first being the default
    paths      what stands after the colon of the user's own files
    measure    the Size with effective options, without making anything; by default that of files
    """

    id: str
    name: str
    summary: str
    kind: str
    loader: str | Callable[[Request], Content]
    paper: str = ""
    size: str = ""
    description: str = ""
    source: str = ""
    terms: str = ""
    own: tuple[Option, ...] = ()
    splits: tuple[str, ...] = ("given",)
    weighting: str | None = None
    scale: str | float = "none"
    degree: int = 1
    bias: int = 0
    files: tuple[DataFile, ...] = ()
    penalty: str = "l1"
    lams: tuple[Lam, ...] = ()
    metric: str | None = None
    kinds: tuple[tuple[str, str], ...] = ()
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    measure: Callable[[Mapping[str, Any]], Size] | None = None

    @property
    def loss(self) -> str:
        return LOSSES[self.kind]

    @property
    def file(self) -> str | None:
        """Return the file looked for (the first of several), or None."""
        return self.files[0].path if self.files else None

    @property
    def options(self) -> tuple[Option, ...]:
        """Return the set's own options and those common to all sets, as far as they make sense for it."""
        if self.kind == "function":
            return self.own
        common = []
        if self.presets:
            names = tuple(self.presets)
            common.append(
                Option(
                    "preset",
                    names[0],
                    "values of the options above under one name",
                    choices=names,
                    title="named settings",
                )
            )
        if len(self.splits) > 1:
            common.append(
                Option(
                    "split",
                    self.splits[0],
                    "how the test part is made",
                    choices=self.splits,
                    title="test split",
                )
            )
        if self.weighting:
            common.append(
                Option(
                    "weighting",
                    self.weighting,
                    "value of a word in a text",
                    choices=WEIGHTINGS,
                    title="weighting of words",
                )
            )
        scale = Option(
            "scale",
            self.scale,
            f"scaling, or a number to divide by: {', '.join(SCALES)}",
            1e-9,
            1e9,
            SCALES,
            title="scaling",
        )
        common.append(scale)
        help = "so many of the features that are most often not zero come twice"
        common.append(Option("double", 0, help, 0, MAX_FEATURES, title="doubled features"))
        common.append(
            Option(
                "degree", self.degree, "2 adds all products of two features", 1, 2, title="degree of products"
            )
        )
        common.append(
            Option("bias", self.bias, "1 adds a constant feature, the last", 0, 1, title="constant feature")
        )
        if self.kind != "sequences":
            help = "one class (or what lies below a node) against the rest; also even, odd"
            common.append(Option("positive", None, help, title="class against the rest"))
        return (*self.own, *common)

    def parse(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return all options with the given values checked and the others at their defaults."""
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                raise DataError(f"{self.id} has no option {name!r}: it takes {', '.join(known)}.")
        values = {name: option.default for name, option in known.items()}
        if self.presets:
            values |= self.presets[known["preset"].parse(given.get("preset", known["preset"].default))]
        return {name: option.parse(given.get(name, values[name])) for name, option in known.items()}

    def kind_of(self, **options: Any) -> str:
        """Return the kind of labels with these options, the others being at their defaults."""
        effective = self.parse(options)
        return "binary" if effective.get("positive") is not None else self.kind_before(effective)

    def kind_before(self, effective: Mapping[str, Any]) -> str:
        """Return the kind of labels with these effective options before one class is set against the rest."""
        return next((kind for when, kind in self.kinds if holds(when, effective)), self.kind)

    def lam_for(self, effective: Mapping[str, Any]) -> Lam | None:
        """Return what is known of a good λ for data with these effective options."""
        return next((lam for lam in self.lams if self._fits(lam, effective)), None)

    def _fits(self, lam: Lam, effective: Mapping[str, Any]) -> bool:
        chosen = self.parse(dict(term.split("=") for term in lam.when.split(",") if term))
        return all(effective[name] == value for name, value in chosen.items() if name not in CHOOSING)

    def needed(self, **options: Any) -> tuple[DataFile, ...]:
        """Return the files needed with these options, the others being at their defaults."""
        effective = self.parse(options)
        return tuple(file for file in self.files if holds(file.when, effective))

    def available(self, **options: Any) -> tuple[bool, str | None]:
        """Tell whether the files needed with these options are at hand, and what to do if not; loads
        nothing."""
        for file in self.needed(**options):
            if store.find(file.path) is None:
                return False, store.advice(file, self.source)
        return True, None

    def estimate(self, **options: Any) -> Size:
        """Estimate how large the set will be with these options; loads nothing. Of a set from files, the
        user's own ones too, only their bytes are known, the rest is 0."""
        effective = self.parse(options)
        if self.measure is not None:
            return self.measure(effective).with_common(effective)
        paths = [store.find(file.path) for file in self.needed(**options)]
        paths += [path for path in map(store.own_path, self.paths) if path.is_file()]
        return Size(0, 0, 0, sum(store.entries(path) for path in paths if path is not None))

    def load_content(self, request: Request) -> Content:
        if callable(self.loader):
            return self.loader(request)
        module, _, function = self.loader.partition(":")
        return getattr(importlib.import_module(f".{module}", __package__), function)(request)
