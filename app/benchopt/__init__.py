"""Exchange with benchopt: exported benchmarks, the classes that they inherit, its results and their plot."""
