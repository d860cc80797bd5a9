"""``python -m solverscope`` is the command ``solverscope``."""

from solverscope.app.console import main

if __name__ == "__main__":
    main()
