"""Exchange with benchopt: exported benchmarks, their base classes, and benchopt's results with their plot."""
