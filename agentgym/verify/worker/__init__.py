"""Checks run in worker processes with limits, which the host can end at any moment.

`forkserver` is the process that workers are forked from, `pool` the host's handle on both,
`runner` the host's side of one judgement. `session` and `remote` are what runs in a worker.
"""
