"""Declared hyper-parameters, and traits: properties that losses and penalties offer and that solvers need."""

from __future__ import annotations

import copy
import enum
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, overload


class Trait(enum.Flag):
    """Properties that losses and penalties offer and solvers need; ``phrase`` describes each in words."""

    phrase: str

    def __new__(cls, phrase: str) -> Self:
        trait = object.__new__(cls)
        trait._value_, trait.phrase = 1 << len(cls.__members__), phrase
        return trait

    SMOOTH = "a smooth loss"
    SEPARABLE = "a penalty that is separable by weights"
    GROUP_SEPARABLE = "a penalty that is separable by rows of weights"
    PROX = "a penalty with a proximal operator in closed form"
    INSTANCE_KERNELS = "a loss with compiled kernels for single instances"
    DIAGONAL_HESSIAN = "a loss with the diagonal of its Hessian"
    HESSIAN = "a loss with Hessian-vector products"
    ROW_KERNELS = "a loss with compiled kernels for single rows of scores"
    LIPSCHITZ = "a loss with a Lipschitz gradient"
    NO_RIDGE = "a penalty without a ridge"
    RIDGE = "a ridge penalty"
    CONJUGATE = "a loss with a known conjugate"
    DIRECTIONAL_DERIVATIVE = "a loss with one-sided directional derivatives"
    DUAL_COORDINATES = "a loss whose dual can be solved one sample at a time"
    ONE_SCORE = "a loss of one score per sample"
    SMOOTH_PENALTY = "a smooth penalty"
    LOG_LINEAR = "a logistic loss of one label, binary or multiclass"
    MARGINS = "logistic terms, hinges or squared hinges of single scores"
    HINGES = "hinges or squared hinges of single scores"
    SINGLE_NORM = "‖w‖₁ alone or ½‖w‖² alone as penalty"
    CHAINS = "a loss of label sequences"
    QUADRATIC_MODEL = "a loss with a quadratic model that coordinate descent can sweep"
    LEAST_SQUARES = "a squared loss of numeric targets"
    HUBER = "Huber's loss"
    POISSON = "Poisson's loss"
    QUANTILE = "the quantile loss"
    EPSILON_INSENSITIVE = "the ε-insensitive loss"
    ROW_NORM = "Σ_j ‖W_j‖₂ as penalty"
    UNIFORM = "a penalty with the same strength for all weights (no intercept, no penalty factors)"


_TRAITS = "".join(f"    {trait.name}\n        {trait.phrase}.\n" for trait in Trait)
Trait.__doc__ = f"{Trait.__doc__}\n\n    Attributes\n    ----------\n{_TRAITS}"


#: The largest seed; larger ones are probably mistakes.
MOST_SEED = 999_999_999
#: Strings for a boolean.
SWITCH: dict[str, bool] = {
    **dict.fromkeys(("true", "on", "1", "yes"), True),
    **dict.fromkeys(("false", "off", "0", "no"), False),
}


class NotAllowed(ValueError):
    """Raised if a hyper-parameter has an invalid value; ``range`` describes the allowed values."""

    def __init__(self, name: str, value: Any, range: str) -> None:
        super().__init__(name, value, range)
        self.name, self.value, self.range = name, value, range

    def __str__(self) -> str:
        return f"{self.name}={_short(self.value)}: {self.name} must be {self.range}"


class Form(NamedTuple):
    """The format of a hyper-parameter that is a string.

    ``parse`` converts a value to its canonical string, and raises ValueError if the value is not allowed.
    ``range`` describes the allowed values in words.
    """

    parse: Callable[[Any], str]
    range: str


def param(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: Collection[Any] | None = None,
    words: tuple[str, ...] = (),
    open_low: bool = False,
    form: Form | None = None,
    title: str = "",
) -> Any:
    """Declare a hyper-parameter as a field of a dataclass, for command line, page and Python alike.

    Parameters
    ----------
    default
        The default; all values have its type.
    help : str
        Description in one line.
    low, high : float, optional
        Bounds of a number.
    choices : collection, optional
        Allowed values.
    words : tuple of str
        Strings allowed in addition to numbers, such as ``full`` for ``memory``.
    open_low : bool
        Whether ``low`` itself is excluded.
    form : Form, optional
        Format of a string.
    title : str
        Label in forms: its name, then its symbol.

    Returns
    -------
    dataclasses.Field
        To be assigned to an attribute of a dataclass.
    """
    meta = {"help": help, "low": low, "high": high, "choices": choices, "words": words, "open_low": open_low}
    return field(default=default, metadata=meta | {"form": form, "title": title})


def random_seed(help: str) -> Any:
    """Declare the hyper-parameter for the seed of a solver's random choices."""
    return param(0, help, low=0, high=MOST_SEED, title="random seed")


def as_printed(**params: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return the ``presets`` of a solver whose only preset is ``paper``.

    ``params`` are the values printed in the paper that differ from the defaults.
    """
    return {"paper": params}


@dataclass(frozen=True)
class Parameter:
    """A declared hyper-parameter, with its strings for lists and forms; see :func:`param` for the
    attributes."""

    name: str
    default: Any
    help: str = ""
    low: float | None = None
    high: float | None = None
    choices: Collection[Any] | None = None
    words: tuple[str, ...] = ()
    open_low: bool = False
    form: Form | None = None
    title: str = ""

    @property
    def kind(self) -> type:
        """Return the type of all values; int if words are allowed too."""
        return int if self.words else type(self.default)

    @property
    def range(self) -> str:
        """Return a description of the allowed values in words."""
        if self.form is not None:
            return self.form.range
        if self.choices is not None:
            return "one of " + ", ".join(text_of(c) for c in self.choices)
        if self.kind is bool:
            return "one of true, false"
        noun = "a whole number" if self.kind is int else "a number"
        low = "" if self.low is None else f" {'above' if self.open_low else 'from'} {self.low:g}"
        high = "" if self.high is None else f" to {self.high:.9g}"
        return f"{noun}{low}{high}" + "".join(f" or {w}" for w in self.words)

    def parse(self, value: Any) -> Any:
        """Return ``value`` (a string or typed) as this parameter's type; raise :class:`NotAllowed` if it is
        invalid."""
        try:
            return self._parsed(value)
        except (TypeError, ValueError, LookupError, OverflowError):
            raise NotAllowed(self.name, value, self.range) from None

    def _parsed(self, value: Any) -> Any:
        if self.form is not None:
            return self.form.parse(value)
        if self.choices is not None:
            return {text_of(choice): choice for choice in self.choices}[text_of(value)]
        if value in self.words:
            return value
        if self.kind is bool:
            return SWITCH[str(value).lower()]
        number = float(value)
        too_low = self.low is not None and (number < self.low or (self.open_low and number == self.low))
        too_high = self.high is not None and number > self.high
        broken = not math.isfinite(number) or (self.kind is int and number != int(number))
        if too_low or too_high or broken:
            raise ValueError
        return self.kind(number)


@overload
def number(name: str, value: None, *, low: float = 0.0, open_low: bool = False) -> None: ...
@overload
def number(name: str, value: float | str, *, low: float = 0.0, open_low: bool = False) -> float: ...
@overload
def number(
    name: str, value: float | str | None, *, low: float = 0.0, open_low: bool = False
) -> float | None: ...
def number(name: str, value: Any, *, low: float = 0.0, open_low: bool = False) -> float | None:
    """Return ``value`` as a number, checked like a hyper-parameter; return None for None.

    Raises :class:`NotAllowed` if it is not a number or out of range.
    """
    return None if value is None else Parameter(name, 0.0, low=low, open_low=open_low).parse(value)


def _short(value: Any) -> str:
    try:
        text = str(value)
    except (ValueError, RecursionError):
        return "a number or list beyond all bounds"
    return text if len(text) <= 80 else f"{text[:79]}…"


def text_of(value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)  # also of a member of an enumeration of texts
    return str(value).lower() if isinstance(value, bool) else str(value)


@cache
def parameters(cls: type) -> tuple[Parameter, ...]:
    """Return the hyper-parameters that a class declares with :func:`param`.

    Parameters
    ----------
    cls : type
        A solver, loss or penalty.

    Returns
    -------
    tuple of Parameter
        The parameters in the order of declaration, those of base classes first. A subclass can only change
        the default of an inherited parameter, as in ``memory: int = 5``.
    """
    declared: dict[str, Mapping[str, Any]] = {}
    for base in reversed(cls.__mro__):
        own = vars(base).get("__dataclass_fields__", {}).values()
        declared |= {f.name: f.metadata for f in own if f.metadata}
    return tuple(
        Parameter(f.name, f.default, **declared[f.name])
        for f in fields(cls)
        if f.default is not MISSING and f.name in declared
    )


def chosen_parameters(thing: object) -> dict[str, Any]:
    """Return the hyper-parameters of a solver, loss or penalty that differ from their defaults, by name."""
    values = {p.name: (getattr(thing, p.name), p.default) for p in parameters(type(thing))}
    return {name: value for name, (value, default) in values.items() if value != default}


class Declared:
    """Base of solvers, losses, penalties and rules: frozen dataclasses that are selected by their ``id``.

    The declared parameters are checked when an instance is created. The id of a plug-in's class is prefixed
    with its ``namespace`` and a dash, if it has a namespace.
    """

    id: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str] = ""
    namespace: ClassVar[str] = ""
    if TYPE_CHECKING:  # every class that can be chosen is a dataclass
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __post_init__(self) -> None:
        for parameter in parameters(type(self)):
            value = parameter.parse(getattr(self, parameter.name))
            object.__setattr__(self, parameter.name, value)

    def _holding(self, **held: Any) -> Self:
        """Return a copy with these attributes set, although the dataclass is frozen.

        They are attributes other than hyper-parameters, or values that need no check.
        """
        other = copy.copy(self)
        for name, value in held.items():
            object.__setattr__(other, name, value)
        return other


def unmet_needs(needs: Trait, offered: Trait, one_of: Trait | None = None) -> str | None:
    """Return a description of the traits that a solver needs but a loss and penalty do not offer.

    Return None if nothing is missing. A smooth loss has directional derivatives. Of the traits in ``one_of``
    one is enough.
    """
    missing = needs & ~(offered | Trait.DIRECTIONAL_DERIVATIVE if Trait.SMOOTH in offered else offered)
    phrases = [trait.phrase for trait in missing]
    if one_of and not one_of & offered:
        phrases.append(", or ".join(trait.phrase for trait in one_of))
    return "needs " + " and ".join(phrases) if phrases else None
