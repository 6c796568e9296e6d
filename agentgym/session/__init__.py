"""Sessions of remote callers over environments and episodes, and the protocols they arrive by."""
