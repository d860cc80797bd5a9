"""The sidebar: data, λ, solvers, limits, breakpoints."""
