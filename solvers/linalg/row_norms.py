"""Kernels of l1 ‖v‖₁ + l2 ‖v‖₂ + sup ‖v‖_∞ on one row v of weights.

Every penalty that separates into rows has this form, with at most one of ``l2`` and ``sup`` positive: ℓ1,
ℓ1/ℓ2, ℓ1/ℓ∞, sparse group, and none. Strengths are those of the penalty times the step.
"""

import numpy as np

from ..compute.jit import kernel

#: Entries this close to the largest one, relatively, share the ℓ∞ norm with it.
LARGEST_TIE = 1e-12
#: The penalty factors of rows if all are 1.
NO_FACTORS = np.empty(0)


@kernel
def factor_of(factors, j):
    """Return the penalty factor of row j."""
    return factors[j] if factors.size else 1.0


@kernel
def norm(v):
    """Return ‖v‖₂, computed in a loop: array expressions would take most of the compilation time."""
    squares = 0.0
    for c in range(v.size):
        squares += v[c] * v[c]
    return np.sqrt(squares)


@kernel
def largest_entry(v):
    """Return ‖v‖_∞."""
    top = 0.0
    for c in range(v.size):
        top = max(top, abs(v[c]))
    return top


@kernel
def violation_of(v, l2, sup):
    """Return the violation of a row with the minimum-norm subgradient v.

    It is ‖v‖₂ if the penalty has a norm of rows, else the largest absolute entry, as weights are independent.
    """
    return norm(v) if l2 > 0.0 or sup > 0.0 else largest_entry(v)


@kernel
def row_value(v, l1, l2, sup):
    """Return the penalty of a row v."""
    total, squares, top = 0.0, 0.0, 0.0
    for c in range(v.size):
        a = abs(v[c])
        total += a
        squares += a * a
        top = max(top, a)
    return l1 * total + l2 * np.sqrt(squares) + sup * top


@kernel
def row_prox(v, l1, l2, sup):
    """Replace v by argmin_u ½‖u - v‖² + penalty(u).

    The prox of ℓ1 comes first, then that of the norm of the row: the reverse order would be wrong.
    """
    if l1 > 0.0:
        for c in range(v.size):
            v[c] = soft_thresholded(v[c], l1)
    if l2 > 0.0:
        length = norm(v)
        factor = 1.0 - l2 / length if length > l2 else 0.0
        for c in range(v.size):
            v[c] = factor * v[c] if factor > 0.0 else 0.0
    if sup > 0.0:
        # v minus its projection on the ℓ1 ball of radius sup: entries are cut off at the ball's threshold
        cut = simplex_threshold(np.abs(v), sup)
        for c in range(v.size):
            v[c] = min(max(v[c], -cut), cut) if cut > 0.0 else 0.0


@kernel
def soft_thresholded(v, l1):
    """Return S(v, l1) of a number; the result is never -0."""
    return max(v - l1, 0.0) + min(v + l1, 0.0)


@kernel
def simplex_threshold(u, total):
    """Return the θ with Σ max(u - θ, 0) = total > 0; it is negative if Σ|u| < total and u >= 0.

    Michelot 1986: compute θ over all entries, then over the entries above θ, until no entry is removed.
    Rounding may bring back an entry that equals θ. So the loop ends when the number of entries does not
    decrease.
    """
    theta, count = -np.inf, u.size + 1
    while True:
        above, members = 0.0, 0
        for k in range(u.size):
            if u[k] > theta:
                above += u[k]
                members += 1
        if members >= count or members == 0:
            return theta
        theta, count = (above - total) / members, members


@kernel
def row_subgradient(w, g, l1, l2, sup, out):
    """Write the shortest vector g + u to ``out``, u a subgradient of the penalty at w."""
    top, squares = 0.0, 0.0
    for c in range(w.size):
        top = max(top, abs(w[c]))
        squares += w[c] * w[c]
        out[c] = g[c]
    if top == 0.0:
        # at zero the subgradients are the dual ball: by Moreau's identity what is left of g is its prox
        row_prox(out, l1, l2, sup)
        return
    share = l2 / np.sqrt(squares)
    for c in range(w.size):
        out[c] += share * w[c]
        if w[c] != 0.0:
            out[c] += l1 * np.sign(w[c])
        elif l1 > 0.0:
            out[c] = soft_thresholded(out[c], l1)
    if sup > 0.0:
        # on the largest entries u = sup q sign(w), q any convex weights: project -g sign(w) on them
        wanted, count = np.empty(w.size), 0
        for c in range(w.size):
            if abs(w[c]) >= (1.0 - LARGEST_TIE) * top:
                wanted[count] = -out[c] * np.sign(w[c])
                count += 1
        theta, k = simplex_threshold(wanted[:count], sup), 0
        for c in range(w.size):
            if abs(w[c]) >= (1.0 - LARGEST_TIE) * top:
                out[c] += max(wanted[k] - theta, 0.0) * np.sign(w[c])
                k += 1


@kernel
def rows_value(W, l1, l2, sup, factors):
    """Return the sum of the penalty over rows, each times its factor."""
    total = 0.0
    for j in range(W.shape[0]):
        total += factor_of(factors, j) * row_value(W[j], l1, l2, sup)
    return total


@kernel
def rows_prox(V, l1, l2, sup, factors):
    """Replace each row of V by its prox."""
    for j in range(V.shape[0]):
        v = factor_of(factors, j)
        row_prox(V[j], v * l1, v * l2, v * sup)


@kernel
def rows_subgradient(W, G, l1, l2, sup, factors, out):
    """Write the minimum-norm subgradient of each row to ``out``."""
    for j in range(W.shape[0]):
        v = factor_of(factors, j)
        row_subgradient(W[j], G[j], v * l1, v * l2, v * sup, out[j])


@kernel
def rows_violation(W, G, l1, l2, sup, factors):
    """Return the largest ℓ2 norm of a row of the minimum-norm subgradient."""
    largest, out = 0.0, np.empty(W.shape[1])
    for j in range(W.shape[0]):
        v = factor_of(factors, j)
        row_subgradient(W[j], G[j], v * l1, v * l2, v * sup, out)
        largest = max(largest, norm(out))
    return largest


@kernel
def sparse_group_dual(G, rho):
    """Return the smallest t with ‖S(G_j, ρt)‖₂ <= (1 - ρ)t for all rows j: the dual norm of ρ‖·‖₁ + (1 -
    ρ)Σ‖·‖₂.

    It is found by bisection in the rows that do not satisfy this yet.
    """
    t = 0.0
    for j in range(G.shape[0]):
        if _satisfied(G[j], t, rho):
            continue
        high = 1.0 + t
        while not _satisfied(G[j], high, rho):
            high *= 2.0
        while True:
            middle = 0.5 * (t + high)
            if middle <= t or middle >= high:
                break
            if _satisfied(G[j], middle, rho):
                high = middle
            else:
                t = middle
        t = high
    return t


@kernel
def _satisfied(g, t, rho):
    squares = 0.0
    for c in range(g.size):
        left = max(abs(g[c]) - rho * t, 0.0)
        squares += left * left
    return np.sqrt(squares) <= (1.0 - rho) * t
