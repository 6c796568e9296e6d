"""Tasks that bring the image of a sandbox and are judged by test scripts in it.

Harbor and terminal-bench are such formats.
"""
