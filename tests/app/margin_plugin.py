"""A plug-in as a researcher would write it: a binary loss of ten lines, which compiled kernels call too."""

from dataclasses import dataclass

from solverscope import solvers
from solverscope.solvers import Trait


@solvers.register
@dataclass(frozen=True)
class SmoothHinge(solvers.MarginLoss):
    """0 from margin 1 on, a parabola below it, and a line from 1 - δ on downwards."""

    id, name, summary = "smooth-hinge", "Smooth hinge", "a hinge with a parabola for its kink"
    traits = solvers.MarginLoss.traits | Trait.LIPSCHITZ | Trait.CONJUGATE | Trait.DUAL_COORDINATES
    dual_bound = 1.0
    delta: float = solvers.param(0.5, "width δ of the parabola", low=0.01)

    def derivatives(self, margin):
        beta = min(max((1.0 - margin) / self.delta, 0.0), 1.0)
        return beta * (1.0 - margin - 0.5 * self.delta * beta), -beta, (beta > 0.0) / self.delta

    def dual(self, beta):
        return beta - 0.5 * self.delta * beta * beta, 1.0 - self.delta * beta, self.delta

    @property
    def smoothness(self):
        return 1.0 / self.delta
