"""Sweeps: grids of runs on Dask, on this machine or on a cluster."""
