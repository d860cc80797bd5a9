"""Softmax over the leaves of a tree of classes: one score per node, summed along the path from the root.

Zhong et al. 2014, section 6.2 and appendix D.2. All messages up and down the tree are passed in this module.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...compute.jit import kernel
from ...declare import Trait
from ...linalg.scores import Scores
from .chunks import moved_rows, row_chunks, scratch
from .duals import cancelled_by_logs, of_rows, row_entropies
from .instances import residual_of
from .loss import Loss
from .multiclass import BoundSoftmax, covariances, with_truth
from .row_loss import RowLoss
from .score_rows import SoftmaxTerm, row_derivatives


class TreeTerm(NamedTuple):
    """The term of the softmax over the leaves of a tree: the parent of each node, and which nodes are
    leaves."""

    parents: np.ndarray
    leaves: np.ndarray


@dataclass(frozen=True)
class TreeSoftmax(Loss):
    """The softmax loss over the leaves of a tree, Σ_i log Σ_leaves exp(α_i(leaf)) - α_i(y_i).

    α(k) is the sum of z over the path from the root to k.

    Labels are leaves, given as nodes; ``parents[k] < k`` is the parent of node k, -1 for the root.
    """

    id = "tree-softmax"
    name = "Tree softmax"
    summary = "negative log-likelihood of a leaf in a tree of classes"
    paper = "Zhong et al. 2014, section 6.2 and appendix D.2"
    kinds = ("tree",)
    traits = Trait.SMOOTH | Trait.INSTANCE_KERNELS | Trait.DIAGONAL_HESSIAN | Trait.LIPSCHITZ
    traits |= Trait.CONJUGATE | Trait.HESSIAN
    average = False

    def bind(self, part: Any, n_classes: int, parents: np.ndarray | None = None) -> BoundTree:
        parents = np.ascontiguousarray(parents, dtype=np.int64)
        if parents.size != n_classes or np.any(parents[1:] < 0) or np.any(parents >= np.arange(n_classes)):
            raise ValueError("the tree must list one parent a node, each before its children, and one root")
        inner = np.zeros(n_classes, dtype=bool)
        inner[parents[parents >= 0]] = True
        y = np.ascontiguousarray(part.y, dtype=np.int64)
        if np.any(inner[y[y >= 0]]):
            raise ValueError("a label is an inner node of the tree: labels must be leaves")
        return BoundTree(self, n_classes, y, parents, np.flatnonzero(~inner))


@dataclass(frozen=True, eq=False)
class BoundTree(RowLoss):
    """The softmax over the ``leaves`` of a tree; each label ``y`` is a leaf."""

    least = 0.0

    parents: np.ndarray
    leaves: np.ndarray

    @property
    def term(self) -> TreeTerm:
        return TreeTerm(self.parents, self.leaves)

    def chunk_values(self, Z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        BoundSoftmax.chunk_values(self._leaf_scores(Z), np.searchsorted(self.leaves, y), out)

    def chunk_residual(self, Z: np.ndarray, y: np.ndarray, G: np.ndarray) -> None:
        P = self._leaf_scores(Z)
        BoundSoftmax.chunk_residual(P, np.searchsorted(self.leaves, y), P)
        upward(P, self.leaves, self.parents, G)

    def _leaf_scores(self, Z: np.ndarray) -> np.ndarray:
        """Return α of the leaves, (rows, leaves), in scratch memory; Z is overwritten."""
        P = scratch("leaves", Z.shape[0], self.leaves.size)
        downward(Z, self.parents, self.leaves, P)
        return P

    def cancelled(self, scores: Scores) -> float:
        return cancelled_by_logs(scores, math.sqrt(self.n_outputs))  # the scores of a path add up

    def dual_values(self, scores: Scores, residual: Scores, alpha: float) -> np.ndarray:
        """Return the entropies of (1 - α) times the truth + α times the model's probabilities of the
        leaves."""
        places = np.searchsorted(self.leaves, self.y)

        def terms(G: np.ndarray, part: slice) -> np.ndarray:
            return row_entropies(with_truth(alpha * G[:, self.leaves], places[part]))

        return of_rows(self, residual.Z, terms)

    def diagonal(self, G: np.ndarray, rows: np.ndarray) -> np.ndarray:
        β = G.copy()
        node = self.y[rows]
        while np.any(node >= 0):
            inside = np.flatnonzero(node >= 0)
            β[inside, node[inside]] += 1.0
            node = np.where(node >= 0, self.parents[node], -1)
        return β * (1.0 - β)

    def chunk_curved(
        self, Z: np.ndarray, G: np.ndarray, rows: np.ndarray, D: np.ndarray, out: np.ndarray
    ) -> None:
        """Write ∇²L D: the softmax Hessian over the leaves applied to the change of their α, summed up the
        tree."""
        P = with_truth(G[:, self.leaves], np.searchsorted(self.leaves, self.y[rows]))
        change = self._leaf_scores(D)
        covariances(P, change, change)
        upward(change, self.leaves, self.parents, out)

    def curvature(self, tight: bool) -> np.ndarray:
        """Return D/2, D the largest depth: the root's score has no effect, and each leaf sums D other
        scores."""
        return np.full(self.n_instances, 0.5 * self._depths().max(initial=0))

    def predict(self, scores: Scores) -> np.ndarray:
        """Return the leaf with the highest α of each sample."""
        labels = np.empty(scores.Z.shape[0], dtype=np.int64)
        for k in row_chunks(labels.size, self.n_outputs):
            labels[k] = self.leaves[self._leaf_scores(moved_rows(scores, k)).argmax(axis=1)]
        return labels

    def _depths(self) -> np.ndarray:
        """Return the number of nodes above each node."""
        depth = np.zeros(self.n_outputs, dtype=np.int64)
        for k in range(1, self.n_outputs):
            depth[k] = depth[self.parents[k]] + 1
        return depth


@kernel
def downward(Z, parents, leaves, P):
    """Pass messages down the tree: α(k) = α(parent) + z_k replaces Z, and α of the leaves is written to P."""
    for i in range(Z.shape[0]):
        z = Z[i]
        for k in range(1, z.size):
            z[k] += z[parents[k]]
        for q in range(leaves.size):
            P[i, q] = z[leaves[q]]


@kernel
def upward(P, leaves, parents, G):
    """Pass messages up the tree: write to G(k) the sum of P over the leaves below k.

    With P the probabilities minus the truth this is β(k) - 1[k in Path(y)] of Zhong et al. 2014, eq. (22).
    """
    for i in range(P.shape[0]):
        g = G[i]
        g[:] = 0.0
        for q in range(leaves.size):
            g[leaves[q]] = P[i, q]
        for k in range(g.size - 1, 0, -1):
            g[parents[k]] += g[k]


@residual_of.register(TreeTerm)
def tree_residual(term, Z, tail, y, G, G_tail):
    parents, leaves = term.parents, term.leaves
    α, P, truth = np.empty((1, leaves.size)), np.empty((1, leaves.size)), np.zeros(1, np.int64)
    downward(Z, parents, leaves, α)
    for q in range(leaves.size):
        if leaves[q] == y[0]:
            truth[0] = q
    loss = row_derivatives(SoftmaxTerm(), α[0], truth, P[0], None)
    upward(P, leaves, parents, G)
    return loss
