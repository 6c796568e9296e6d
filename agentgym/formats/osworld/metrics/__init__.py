"""The metrics of OSWorld, written from their meaning, each a function of its name.

A metric takes what the getters gave: values, and files as paths. It returns a score in 0..1.
`registry` names the module of each; `reader` runs one in a process with limits.
"""
