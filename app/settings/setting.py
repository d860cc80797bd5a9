"""Settings: how a value that a person may choose is declared, parsed and printed."""

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
    """Conversion of values from and to the words of a command line and the data of a table: here of a text,
    such as an id, which stays as it is. ``repeated`` is whether the option may be given several times."""

    repeated: ClassVar[bool] = False

    def parse(self, flag: str, given: Any) -> Any:
        """Return the value of an option from its text or texts; raise ValueError if wrong."""
        return given

    def written(self, value: Any) -> list[str]:
        """Return the texts that the option is given for a value: one, or several if it is repeated."""
        return [text_of(value)]

    def words(self, flag: str, value: Any) -> list[str]:
        """Return the words of a command line that set a value."""
        return [word for text in self.written(value) for word in (flag, text)]

    def plain(self, value: Any) -> Any:
        """Return a value as JSON has it."""
        return value


@dataclass(frozen=True)
class NumberCodec(TextCodec):
    """Conversion of a finite number from ``low`` to ``high`` and above ``above``, or one of the ``texts``."""

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
    """Conversion of ``name=value`` texts of a repeatable option."""

    repeated: ClassVar[bool] = True

    def parse(self, flag: str, given: Sequence[str] | None) -> dict[str, str]:
        return assignments(flag, given or ())

    def written(self, value: Mapping[str, Any]) -> list[str]:
        return [f"{name}={text_of(one)}" for name, one in value.items()]


class PenaltyFactorsCodec(TextCodec):
    """Conversion of penalty factors, "adaptive" or "NAME=FACTOR,...", which stay a text."""

    def parse(self, flag: str, given: str | None) -> str | None:
        from solverscope.solvers import check_penalty_factors

        if given is not None:
            check_penalty_factors(given)
        return (given or "").strip() or None


class ConditionsCodec(TextCodec):
    """Conversion of conditions over the record of an iterate."""

    repeated: ClassVar[bool] = True

    def parse(self, flag: str, given: Sequence[str] | None) -> tuple[Condition, ...]:
        from solverscope.solvers import Condition

        return tuple(map(Condition.parse, given or ()))

    def written(self, value: Sequence[Condition]) -> list[str]:
        return [one.text for one in value]

    plain = written


class LamChangesCodec(TextCodec):
    """Conversion of changes of λ, written ``ITERATION=LAM``, to pairs in the order of the iterates."""

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
    """Conversion of an iterate to continue from, written ``FILE[#LABEL]@ITERATION``."""

    def parse(self, flag: str, given: str | None) -> Any:
        from .resume_point import ResumePoint

        return None if given is None else ResumePoint.parse(given)

    def written(self, value: Any) -> list[str]:
        return [value.text]

    def plain(self, value: Any) -> str:
        return value.text


@dataclass(frozen=True)
class PageField:
    """A value as the page shows it in a field, and as its address has it: its default and bounds there.

    It is a number, true or false, or one of the texts ``choices``.
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
    """A value that a person may set, and every place in which it appears.

    Parameters
    ----------
    name : str
        The attribute of its part, the parameter of commands and the key in tables.
    part : str
        The part of an experiment that has it; "" for a setting of none.
    flag, metavar, help : str
        How the command line shows it.
    codec : TextCodec
        How the command line and tables have its values.
    commands : tuple of str
        The commands that take it as it is declared here.
    given : str, optional
        The text that a command line without the option stands for.
    unsaid : optional
        A value that command lines leave out; None is always left out.
    in_record : str
        The field of a problem's record that has it; "" if none does.
    in_address : str
        The parameter of a page's URL that has it; "" if none does.
    left_to_data : bool
        Whether an address may leave the value to the data, by an empty text.
    page_field : PageField, optional
        Its field, if the page shows one.
    in_run_form : bool
        Whether that field stands in the form of the runs, below the solvers.
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
        """Return the words of a command line that set this value."""
        return [] if value is None or value == self.unsaid else self.codec.words(self.flag, value)

    def of(self, experiment: Any) -> Any:
        """Return its value in an experiment."""
        return getattr(experiment if self.part == "experiment" else getattr(experiment, self.part), self.name)

    def put(self, experiment: E, value: Any) -> E:
        """Return an experiment with another value of it."""
        changed: dict[str, Any] = {self.name: value}
        if self.part != "experiment":
            changed = {self.part: replace(getattr(experiment, self.part), **changed)}
        return replace(cast(Any, experiment), **changed)

    @property
    def field(self) -> Parameter:
        """Return its declaration as a field of the page."""
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
        """Return the value of a URL parameter from its text; raise ValueError if wrong."""
        from solverscope.solvers.declare import NotAllowed

        from . import wording

        if self.left_to_data and not text:
            return None
        try:
            return self.field.parse(text)
        except NotAllowed as error:
            raise ValueError(wording.of_field(self.field, error)) from None

    def print_address(self, value: Any) -> str:
        """Return the text of the URL parameter that stands for a value."""
        return "" if value is None and self.left_to_data else text_of(value)


def _bound(bound: Bound) -> float | None:
    return bound() if callable(bound) else bound
