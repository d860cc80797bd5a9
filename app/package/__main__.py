"""The module that makes ``python -m solverscope`` run the command ``solverscope``."""

from solverscope.app.console import main

if __name__ == "__main__":
    main()
