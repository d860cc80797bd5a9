"""Models of curvature: L-BFGS pairs, inverse Hessians, directions, cutting planes and clusters."""
