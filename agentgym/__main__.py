"""Runs the command line as ``python -m agentgym``."""

from agentgym.cli import main

if __name__ == "__main__":
    main()
