"""The panels of the sidebar: data, λ, solvers, limits, breakpoints."""
