"""How far an iterate is from optimal: violations of the optimality conditions, proved gaps."""
