"""A desktop in a sandbox, seen from the host: pictures, windows, the tree of its applications.

The other half is the control server of the recipe `desktop` (sandboxes/desktop/guest).
"""
