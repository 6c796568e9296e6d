"""Graphical interfaces of any kind: trees as text, references, keys, marks, computer-use actions.

Browsers and desktops use it; it knows neither.
"""
