"""The browser fixtures, for benchmarks of the page."""

from tests.browser.conftest import browser_type_launch_args, server, visit

__all__ = ["browser_type_launch_args", "server", "visit"]
