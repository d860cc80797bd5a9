"""Declarations of settings: how a value that the user may choose is parsed and formatted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

from .arguments import assignments, number, text_of

if TYPE_CHECKING:
    from solverscope.solvers import Condition, Parameter


E = TypeVar("E")
#: A bound of a number; a function where computing it needs an import that takes seconds.
Bound = float | Callable[[], float] | None


class TextCodec:
    """Conversion of a value from and to arguments of the command line and JSON; here of a string, such as an
    id.

    ``repeated`` is true if the option may be given several times.
    """

    repeated: ClassVar[bool] = False

    def parse(self, flag: str, given: Any) -> Any:
        """Return the value that an option was given; raise ValueError if it is invalid."""
        return given

    def written(self, value: Any) -> list[str]:
        """Return the strings that represent a value: several if the option may be repeated, otherwise one."""
        return [text_of(value)]

    def words(self, flag: str, value: Any) -> list[str]:
        """Return the arguments of the command line that set a value."""
        return [word for text in self.written(value) for word in (flag, text)]

    def plain(self, value: Any) -> Any:
        """Return a value in a form that JSON can represent."""
        return value


@dataclass(frozen=True)
class NumberCodec(TextCodec):
    """Conversion of a finite number, or of one of the strings ``texts``.

    The number must be at least ``low``, greater than ``above`` and at most ``high``.
    """

    low: Bound = None
    above: Bound = None
    high: Bound = None
    kind: type[float] | type[int] = float
    texts: tuple[str, ...] = ()

    def parse(self, flag: str, given: Any) -> Any:
        if given in self.texts:
            return given
        low, above, high = map(_bound, (self.low, self.above, self.high))
        return number(flag, given, low=low, above=above, high=high, kind=self.kind)


class SwitchCodec(TextCodec):
    """Conversion of a pair of flags, written ``--on/--off``: true, false, or None if neither is given."""

    def words(self, flag: str, value: bool) -> list[str]:
        on, off = flag.split("/")
        return [on if value else off]


class PairsCodec(TextCodec):
    """Conversion of ``name=value`` strings of a repeatable option."""

    repeated: ClassVar[bool] = True

    def parse(self, flag: str, given: Sequence[str] | None) -> dict[str, str]:
        return assignments(flag, given or ())

    def written(self, value: Mapping[str, Any]) -> list[str]:
        return [f"{name}={text_of(one)}" for name, one in value.items()]


class PenaltyFactorsCodec(TextCodec):
    """Conversion of penalty factors, "adaptive" or "NAME=FACTOR,...": they are checked, but
    remain a string."""

    def parse(self, flag: str, given: str | None) -> str | None:
        from solverscope.solvers import check_penalty_factors

        if given is not None:
            check_penalty_factors(given)
        return (given or "").strip() or None


class ConditionsCodec(TextCodec):
    """Conversion of conditions on the record of an iterate."""

    repeated: ClassVar[bool] = True

    def parse(self, flag: str, given: Sequence[str] | None) -> tuple[Condition, ...]:
        from solverscope.solvers import Condition

        return tuple(map(Condition.parse, given or ()))

    def written(self, value: Sequence[Condition]) -> list[str]:
        return [one.text for one in value]

    plain = written


class LamChangesCodec(TextCodec):
    """Conversion of changes of λ, written ``ITERATION=LAM``, to pairs in the order of the iterations."""

    repeated: ClassVar[bool] = True

    def parse(self, flag: str, given: Sequence[str] | None) -> tuple[tuple[int, float], ...]:
        changes = (
            (number(flag, first, low=1, kind=int), number(f"{flag} {first} =", lam, above=0))
            for first, lam in assignments(flag, given or ()).items()
        )
        return tuple(sorted(changes))

    def written(self, value: Sequence[tuple[int, float]]) -> list[str]:
        return [f"{first}={text_of(lam)}" for first, lam in value]

    def plain(self, value: Sequence[tuple[int, float]]) -> list[list[float]]:
        return [list(change) for change in value]


class OriginCodec(TextCodec):
    """Conversion of an iterate from which to continue, written ``FILE[#LABEL]@ITERATION``."""

    def parse(self, flag: str, given: str | None) -> Any:
        from .resume_point import ResumePoint

        return None if given is None else ResumePoint.parse(given)

    def written(self, value: Any) -> list[str]:
        return [value.text]

    def plain(self, value: Any) -> str:
        return value.text


@dataclass(frozen=True)
class PageField:
    """The input field of a setting on the page, with its default and bounds there and in URLs.

    The value is a number, a Boolean, or one of the strings ``choices``. If ``open_low`` is true, the value
    must exceed ``low``.
    """

    default: float | str
    help: str
    title: str
    low: Bound = None
    high: Bound = None
    open_low: bool = False
    choices: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Setting:
    """A value that the user may set, with everything that declares it on the command line, page and in
    records.

    Parameters
    ----------
    name : str
        Name of the attribute in its part, of the argument in commands, and of the key in tables.
    part : str
        The part of an experiment to which the setting belongs; "" if none.
    flag, metavar, help : str
        Option, placeholder and help text on the command line.
    codec : TextCodec
        Conversion from and to the values on command lines and in tables.
    commands : tuple of str
        The commands that have this option exactly as declared here.
    given : str, optional
        The argument that is assumed if the option is missing.
    unsaid : optional
        A value that is omitted from command lines, as None always is.
    in_record : str
        The field of a problem's record that contains the value; "" if none does.
    in_address : str
        The parameter of the page's URL that contains the value; "" if none does.
    left_to_data : bool
        Whether the URL parameter may be empty, which means the default of the data.
    page_field : PageField, optional
        Its field on the page, if there is one.
    in_run_form : bool
        Whether that field belongs to the run form, below the solvers.
    """

    name: str
    part: Literal["problem", "limits", "experiment", ""]
    flag: str
    metavar: str
    help: str
    codec: TextCodec
    commands: tuple[str, ...] = ("run", "path")
    given: str | None = None
    unsaid: Any = None
    in_record: str = ""
    in_address: str = ""
    left_to_data: bool = False
    page_field: PageField | None = None
    in_run_form: bool = False

    def parse(self, given: Any) -> Any:
        """Return the value of the setting's option; raise ValueError if it is invalid."""
        return self.codec.parse(self.flag, self.given if given is None else given)

    def words(self, value: Any) -> list[str]:
        """Return the arguments of the command line that set this value."""
        return [] if value is None or value == self.unsaid else self.codec.words(self.flag, value)

    def of(self, experiment: Any) -> Any:
        """Return the value of the setting in an experiment."""
        return getattr(experiment if self.part == "experiment" else getattr(experiment, self.part), self.name)

    def put(self, experiment: E, value: Any) -> E:
        """Return a copy of an experiment with this setting changed."""
        changed: dict[str, Any] = {self.name: value}
        if self.part != "experiment":
            changed = {self.part: replace(getattr(experiment, self.part), **changed)}
        return replace(cast(Any, experiment), **changed)

    @property
    def field(self) -> Parameter:
        """Return the field of the page as a declared parameter. Raises LookupError if the page has none."""
        from solverscope.solvers import Parameter

        shown = self.page_field
        if shown is None:
            raise LookupError(f"the page has no field for {self.name}")
        return Parameter(
            self.name,
            shown.default,
            shown.help,
            low=_bound(shown.low),
            high=_bound(shown.high),
            open_low=shown.open_low,
            choices=shown.choices,
            title=shown.title,
        )

    def parse_address(self, text: str) -> Any:
        """Parse a URL parameter. Raises ValueError if it is invalid."""
        from solverscope.solvers.declare import NotAllowed

        from . import wording

        if self.left_to_data and not text:
            return None
        try:
            return self.field.parse(text)
        except NotAllowed as error:
            raise ValueError(wording.of_field(self.field, error)) from None

    def print_address(self, value: Any) -> str:
        """Return the URL parameter that represents a value."""
        return "" if value is None and self.left_to_data else text_of(value)


def _bound(bound: Bound) -> float | None:
    return bound() if callable(bound) else bound
