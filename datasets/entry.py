"""Descriptions of data sets: everything that is known about a set before it is loaded."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import store
from .errors import DataError
from .kinds import DEFAULT_LOSSES, NUMERIC
from .limits import MAX_FEATURES
from .options import Option, holds
from .size import Size
from .store import DataFile, Progress

if TYPE_CHECKING:
    from .dataset import Content

CHOOSING = ("split", "fold", "n_train", "test", "cv")
"""Options that choose which samples are trained on and which are held out: one λ is good for all."""

SCALES = ("none", "unit", "minmax", "center", "standard", "sample-standard")
TARGET_SCALES = ("none", "center", "standard")
WEIGHTINGS = ("binary", "counts", "tf-idf")

#: Options that all sets have where they make sense; each set has its own defaults.
PRESET = Option("preset", "", "values of the options above under one name", title="named settings")
SPLIT = Option("split", "", "how the test part is made", title="test split")
CV_HELP = "k/K: of K parts of the training part the k-th is held out, in place of the test part"
CV = Option("cv", None, CV_HELP, title="cross-validation part")
WEIGHTING = Option(
    "weighting", "", "value of a word in a text", choices=WEIGHTINGS, title="weighting of words"
)
SCALE_HELP = f"scaling, or a number to divide by: {', '.join(SCALES)}"
SCALE = Option("scale", "", SCALE_HELP, 1e-9, 1e9, SCALES, title="scaling")
DOUBLE_HELP = "so many of the features that are most often not zero come twice"
DOUBLE = Option("double", 0, DOUBLE_HELP, 0, MAX_FEATURES, title="doubled features")
DEGREE = Option("degree", 1, "2 adds all products of two features", 1, 2, title="degree of products")
BIAS = Option("bias", 0, "1 adds a constant feature, the last", 0, 1, title="constant feature")
TARGET_SCALE_HELP = "center: minus the training mean; standard: divided by the deviation too"
TARGET_SCALE = Option(
    "target_scale", "none", TARGET_SCALE_HELP, choices=TARGET_SCALES, title="scaling of targets"
)
POSITIVE_HELP = "one class (or what lies below a node) against the rest; also even, odd"
POSITIVE = Option("positive", None, POSITIVE_HELP, title="class against the rest")
CLASS_WEIGHT_HELP = "balanced: all classes count alike in the loss, however few training samples they have"
CLASS_WEIGHT = Option(
    "class_weight", "none", CLASS_WEIGHT_HELP, choices=("none", "balanced"), title="class weights"
)


def weighs(options: Mapping[str, Any]) -> bool:
    """Return whether the options of a data set assign weights to its samples."""
    return options.get("weights") is not None or options.get("class_weight", "none") != "none"


@dataclass(frozen=True)
class Request:
    """The argument of a loader.

    Attributes
    ----------
    options : dict
        The value of every option.
    seed : int
        The seed of the loader's random numbers.
    progress : callable
        To be called as ``progress(text, fraction)`` during long computations.
    paths : tuple of Path
        The files that the set consists of, in the order of its declaration. For a user's own file, the second
        one is the test part.
    """

    options: dict[str, Any]
    seed: int
    progress: Progress
    paths: tuple[Path, ...] = ()

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the files. Without files, return that of options and seed, which determine
        the data."""
        if self.paths:
            return store.sha256(*self.paths)
        return hashlib.sha256(repr((sorted(self.options.items()), self.seed)).encode()).hexdigest()


@dataclass(frozen=True)
class Lam:
    """A λ for the default loss and penalty of a set, with properties of its solution.

    Attributes
    ----------
    value : float
        λ, for a sum or an average over samples as in the loss's paper.
    nonzeros, weights : int
        Numbers of nonzero weights of the solution, and of all weights.
    metric : float
        The metric of the solution on the test part.
    when : str
        Options for which it was chosen, such as "task=binary". All other options must have their defaults,
        except those in ``CHOOSING``, which do not matter.
    paper : bool
        Whether the value is from a paper; otherwise it gives the sparsest solution on a path whose metric is
        close to the best.
    """

    value: float
    nonzeros: int
    weights: int
    metric: float
    when: str = ""
    paper: bool = False


@dataclass(frozen=True)
class DataSetInfo:
    """The description of a data set.

    Attributes
    ----------
    id, name, summary : str
        Id for scripts, name on the page, and a short description.
    kind : str
        The kind of labels: binary, multiclass, multilabel, sequences, tree, regression (one numeric target),
        multitask (several) or function.
    loader : str or callable
        A function of a :class:`Request` that returns a :class:`Content`, or "module:function".
    paper, description, source, terms : str
        Papers that use the set, its content, its origin, and its licence.
    size : str
        The numbers of samples, features and classes in words, for every form of the set.
    own : tuple of Option
        The set's own options; ``options`` adds the common ones.
    splits : tuple of str
        The possible origins of the test part, the default first: "given" by the source, "random", "none".
    weighting : str, optional
        The default weighting of word counts; None for anything but text.
    scale : str or float
        The default scaling: one of ``SCALES``, or a number to divide by.
    target_scale : str
        The default scaling of numeric targets: one of ``TARGET_SCALES``.
    degree, bias : int
        Defaults of the options for products of features and for a constant feature.
    files : tuple of DataFile
        Files that the set needs.
    penalty : str
        The id of the default penalty.
    lams : tuple of Lam
        Suitable λ for forms of the set; for other forms, λ is a fraction of λ_max.
    metric : str, optional
        A metric that replaces the default: "entity-f1".
    kinds : tuple of (str, str)
        Pairs of options and the kind of labels that they lead to; the first pair whose options are set
        applies.
    presets : mapping
        Named values of several options; the first is the default.
    paths : tuple of str
        For a user's own files, the paths after the colon of the id.
    measure : callable, optional
        Returns the :class:`Size` for given options; by default it is estimated from the files.
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
    terms: str = "none stated"
    own: tuple[Option, ...] = ()
    splits: tuple[str, ...] = ("given",)
    weighting: str | None = None
    scale: str | float = "none"
    target_scale: str = "none"
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
        """Return the id of the default loss."""
        return DEFAULT_LOSSES[self.kind]

    @property
    def file(self) -> str | None:
        """Return the path of the first file that the set needs, if any."""
        return self.files[0].path if self.files else None

    @property
    def options(self) -> tuple[Option, ...]:
        """Return the set's own options, followed by the common options that apply to it."""
        if self.kind == "function":
            return self.own
        common = []
        if self.presets:
            names = tuple(self.presets)
            common.append(replace(PRESET, default=names[0], choices=names))
        if len(self.splits) > 1:
            common.append(replace(SPLIT, default=self.splits[0], choices=self.splits))
        common.append(CV)
        if self.weighting:
            common.append(replace(WEIGHTING, default=self.weighting))
        common += [replace(SCALE, default=self.scale), DOUBLE]
        common += [replace(DEGREE, default=self.degree), replace(BIAS, default=self.bias)]
        if self.kind in NUMERIC or self.paths:
            common.append(replace(TARGET_SCALE, default=self.target_scale))
        common += [] if self.kind in ("sequences", *NUMERIC) else [POSITIVE, CLASS_WEIGHT]
        return (*self.own, *common)

    def parse(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the value of every option: ``given`` values, which are checked, or defaults.

        Raises DataError if an option or a value is invalid.
        """
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                raise DataError(f"{self.id} has no option {name!r}: it takes {', '.join(known)}.")
        values = {name: option.default for name, option in known.items()}
        if self.presets:
            values |= self.presets[known["preset"].parse(given.get("preset", known["preset"].default))]
        return {name: option.parse(given.get(name, values[name])) for name, option in known.items()}

    def kind_of(self, **options: Any) -> str:
        """Return the kind of labels for these options; other options have their defaults."""
        effective = self.parse(options)
        return "binary" if effective.get("positive") is not None else self.kind_before(effective)

    def kind_before(self, effective: Mapping[str, Any]) -> str:
        """Return the kind of labels for the values of all options, ignoring ``positive``, which makes it
        binary."""
        return next((kind for when, kind in self.kinds if holds(when, effective)), self.kind)

    def lam_for(self, effective: Mapping[str, Any]) -> Lam | None:
        """Return the first λ that was chosen for these values of all options, or None."""
        return next((lam for lam in self.lams if self._fits(lam, effective)), None)

    def _fits(self, lam: Lam, effective: Mapping[str, Any]) -> bool:
        chosen = self.parse(dict(term.split("=") for term in lam.when.split(",") if term))
        return all(effective[name] == value for name, value in chosen.items() if name not in CHOOSING)

    def needed(self, **options: Any) -> tuple[DataFile, ...]:
        """Return the files needed for these options; other options have their defaults."""
        effective = self.parse(options)
        return tuple(file for file in self.files if holds(file.when, effective))

    def available(self, **options: Any) -> tuple[bool, str | None]:
        """Return whether the files needed for these options are available, and how to get them if not."""
        for file in self.needed(**options):
            if store.find(file.path) is None:
                return False, store.advice(file, self.source)
        return True, None

    def estimate(self, **options: Any) -> Size:
        """Estimate the size of the set for these options without loading it.

        For a set from files, only the number of nonzeros is estimated, from the sizes of the files.
        """
        effective = self.parse(options)
        if self.kind == "function":
            return Size(2, 2, 1, 4)
        if self.measure is not None:
            return self.measure(effective).with_common(effective)
        paths = [store.find(file.path) for file in self.needed(**options)]
        paths += [path for path in map(store.own_path, self.paths) if path.is_file()]
        return Size(0, 0, 0, sum(store.entries(path) for path in paths if path is not None))

    def load_content(self, request: Request) -> Content:
        """Call the loader, which is imported first if it is given by name."""
        if callable(self.loader):
            return self.loader(request)
        module, _, function = self.loader.partition(":")
        return getattr(importlib.import_module(f".{module}", __package__), function)(request)
