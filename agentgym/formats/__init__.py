"""The formats of other benchmarks, a package each, as plug-ins (`agentgym.task_formats`).

No other part of agentgym imports these packages; docs/formats.md is the guide for authors.
"""
