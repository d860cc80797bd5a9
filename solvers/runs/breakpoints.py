"""Breakpoints: conditions on the record of an iterate, at which a run ends or pauses.

A condition is a string such as ``nnz > 100 and objective > prev.objective`` or ``"kink" in events``. It is
parsed with :mod:`ast`, and each allowed node becomes a Python function. Nothing is evaluated by the
interpreter, and any other Python syntax raises an error when the string is parsed.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..compute.source_digest import parsed
from ..methods.iterate import FIELDS, Iterate
from ..methods.iterate_record import own_field

#: Maximal length of a condition.
MAX_CONDITION_LENGTH = 200
#: Useful conditions; ``{}`` stands for a number.
USUAL_CONDITIONS = {
    "an epoch starts": '"epoch-start" in events and iteration > 0',
    "a weight returns": "returned > 0",
    "a line search takes more trials than": "ls_trials > {}",
    "the step is below": "step < {}",
    "a curvature pair is skipped": '"curvature-skipped" in events',
    "the objective goes up": "objective > prev.objective",
    "a kink is hit": '"kink" in events',
    "weights cross between clusters": "crossovers > 0",
    "non-zeros cross": "nnz >= {0} and prev.nnz < {0} or nnz < {0} and prev.nnz >= {0}",
}

#: Values of an iterate's fields by name; None if unknown.
Values = Mapping[str, Any]
#: The value of a part of a condition, for the values of an iterate and of the previous one.
Value = Callable[[Values, Values], Any]
NUMBER_TYPE, TEXT_TYPE, WORDS_TYPE, TRUTH_TYPE = "a number", "a text", "a list of words", "true or false"
ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
COMPARISONS = {
    **{ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge},
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne},
}


@dataclass(frozen=True)
class Condition:
    """A condition on the record of an iterate; :meth:`parse` returns one from a string.

    The string may contain names of fields, numbers, + - * /, comparisons, and, or, not, and ``"word" in
    events``. Fields that a solver adds are ``own.FIELD``, and those of the previous iterate ``prev.FIELD``
    and ``prev.own.FIELD``. A comparison with an unknown value, or with 1/0, is false.

    Examples
    --------
    >>> from solverscope import solvers
    >>> rises = solvers.Condition.parse("objective > prev.objective")
    >>> rises.holds({"objective": 2.0}, {"objective": 1.0})
    True
    >>> rises.holds({"objective": 2.0}, {})
    False
    """

    text: str
    #: fields that it reads, of this iterate or the previous one
    fields: frozenset[str] = field(compare=False)
    _value: Value = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Return the condition written as a string.

        Raises
        ------
        ValueError
            If the string is not a valid condition.
        """
        text = text.strip()
        try:
            tree = _tree(text)
            value = _read(tree, TRUTH_TYPE)
        except ValueError as error:
            shown = text if len(text) <= 60 else f"{text[:60]}..."
            raise ValueError(f"{shown!r} is no condition to break at: {error}") from None
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        own = {name for node in ast.walk(tree) if (name := _own_name(node)) is not None}
        return cls(text, frozenset((names & FIELDS.keys()) | own), value)

    def holds(self, values: Values, before: Values) -> bool:
        """Return whether the condition holds at an iterate; it never raises.

        Parameters
        ----------
        values, before : mapping
            Values by field (None if unknown) of this iterate and of the previous one (empty at the first
            iterate).
        """
        return self._value(values, before)


class BreakpointWatch:
    """A test of conditions at successive iterates.

    A condition is hit at the iterate at which it begins to hold. It is re-armed once it has been false.

    Parameters
    ----------
    conditions : iterable of Condition
        The conditions, in the order in which they are tested.
    """

    def __init__(self, conditions: Iterable[Condition]) -> None:
        self.conditions = tuple(conditions)
        self._holding: list[Condition] = []
        self._fields = sorted(frozenset().union(*(condition.fields for condition in self.conditions)))
        self._before: Values = {}

    def hit(self, iterate: Iterate) -> Condition | None:
        """Return the first condition that begins to hold at this iterate; return None if there is none."""
        if not self.conditions:
            return None
        found = {name: getattr(iterate, name) for name in self._fields if name in FIELDS}
        values = {name: known(name, found.get(name, iterate.own.get(name))) for name in self._fields}
        before = self._before
        self._before = values
        held, self._holding = self._holding, [c for c in self.conditions if c.holds(values, before)]
        return next((condition for condition in self._holding if condition not in held), None)


def known(name: str, value: Any) -> Any:
    """Return the value of a field of the record, numbers as float; return None if it is unknown."""
    about = FIELDS.get(name) or own_field(name)
    if not about.is_known(value):
        return None
    return float(value) if about.numeric else value


def _tree(text: str) -> ast.expr:
    """Return the syntax tree of a string, which may contain any Python expression; raise ValueError if
    invalid."""
    if len(text) > MAX_CONDITION_LENGTH:
        raise ValueError(f"it has {len(text)} characters, and {MAX_CONDITION_LENGTH} are allowed")
    if not (text.isascii() and text.isprintable()) or "\\" in text:
        raise ValueError("write plain letters, digits and signs")
    try:
        tree = parsed(text, "eval")
        assert isinstance(tree, ast.Expression)
        return tree.body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError("write one such as nnz > 100 or objective > prev.objective") from None


def _read(node: ast.expr, wanted: str) -> Value:
    """Return the function that computes a node's value from those of an iterate and of the previous one.

    Raises ValueError if the node is not of the kind ``wanted``, or not part of the language.
    """
    kind, value = _part(node)
    if kind != wanted:
        raise ValueError(f"{ast.unparse(node)} is {kind}, and {wanted} is wanted there")
    return value


def _part(node: ast.expr) -> tuple[str, Value]:
    """Return the kind of a node's value, and the function that computes it."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return NUMBER_TYPE, _constant(_finite(number))
        case ast.Constant(value=str() as text):
            return TEXT_TYPE, _constant(text)
        case ast.Name(id=name):
            return _kind(name), lambda values, before: values.get(name)
        case ast.Attribute(value=ast.Name(id="own"), attr=name):
            return NUMBER_TYPE, lambda values, before: values.get(name)
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="prev"), attr="own"), attr=name):
            return NUMBER_TYPE, lambda values, before: before.get(name)
        case ast.Attribute(value=ast.Name(id="prev"), attr=name):
            return _kind(name), lambda values, before: before.get(name)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            one = _read(operand, NUMBER_TYPE)
            return NUMBER_TYPE, _apply(operator.neg if isinstance(sign, ast.USub) else operator.pos, one)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            one = _read(operand, TRUTH_TYPE)
            return TRUTH_TYPE, lambda values, before: not one(values, before)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            return NUMBER_TYPE, _apply(
                ARITHMETIC[type(op)], _read(left, NUMBER_TYPE), _read(right, NUMBER_TYPE)
            )
        case ast.BoolOp(op=op, values=parts):
            each = [_read(part, TRUTH_TYPE) for part in parts]
            joined = all if isinstance(op, ast.And) else any
            return TRUTH_TYPE, lambda values, before: joined(one(values, before) for one in each)
        case ast.Compare(left=left, ops=ops, comparators=rights):
            pairs = zip([left, *rights], ops, rights, strict=False)
            each = [_comparison(one, op, other) for one, op, other in pairs]
            return TRUTH_TYPE, lambda values, before: all(one(values, before) for one in each)
    raise ValueError(
        f"{ast.unparse(node)} is not understood: there are fields of the record, own.FIELD, prev.FIELD, "
        'numbers, + - * /, comparisons, and, or, not, "word" in events'
    )


def _comparison(left: ast.expr, op: ast.cmpop, right: ast.expr) -> Value:
    if isinstance(op, ast.In | ast.NotIn):
        word, words = _read(left, TEXT_TYPE), _read(right, WORDS_TYPE)
        inside = isinstance(op, ast.In)
        return lambda values, before: (word(values, before) in (words(values, before) or ())) is inside
    if type(op) not in COMPARISONS:
        raise ValueError(f"{ast.unparse(left)} and {ast.unparse(right)} are not compared by < or the like")
    kind, one = _part(left)
    if kind != TEXT_TYPE:
        kind, one = NUMBER_TYPE, _read(left, NUMBER_TYPE)
    elif not isinstance(op, ast.Eq | ast.NotEq):
        raise ValueError("texts are compared by == and != only")
    return _apply(COMPARISONS[type(op)], one, _read(right, kind), unknown=False)


def _kind(name: str) -> str:
    if name not in FIELDS:
        raise ValueError(
            f"{name} is no field of the record: these are {', '.join(FIELDS)}, and own.{name} if a solver "
            "adds it"
        )
    if FIELDS[name].numeric:
        return NUMBER_TYPE
    return WORDS_TYPE if FIELDS[name].type is tuple else TEXT_TYPE


def _own_name(node: ast.AST) -> str | None:
    """Return the name of the additional field that a node reads; return None for any other node."""
    match node:
        case ast.Attribute(value=ast.Name(id="own"), attr=name):
            return name
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="prev"), attr="own"), attr=name):
            return name
    return None


def _finite(number: int | float) -> float:
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ValueError("it holds a number that is too large")
    return value


def _constant(value: Any) -> Value:
    return lambda values, before: value


def _apply(function: Callable[..., Any], *parts: Value, unknown: Any = None) -> Value:
    """Return a function that applies ``function`` to the values of the parts.

    The result is ``unknown`` if one of the values is unknown, or for 1/0.
    """

    def value(values: Values, before: Values) -> Any:
        given = [part(values, before) for part in parts]
        if None in given:
            return unknown
        try:
            return function(*given)
        except ZeroDivisionError:
            return None

    return value
