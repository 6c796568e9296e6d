"""The parts of the guest supervisor, which run inside every sandbox (`supervisor.py` is PID 1).

Standard library only (Python >= 3.8), and no more of it than they need: without a fork server they
are imported once per sandbox, and `json`, `re` and `enum` would double the start-up time.
"""
