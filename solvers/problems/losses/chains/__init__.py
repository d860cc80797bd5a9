"""Forward-backward on chains: packed, one by one, and in log space."""
