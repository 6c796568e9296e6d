"""The network access of a sandbox: a filtering proxy on the host and its policy."""
