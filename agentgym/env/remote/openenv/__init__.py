"""Environments on servers of OpenEnv (``openenv-core`` 0.3), played as our own are.

A server of OpenEnv plays one episode for each connection. Its answers have no numbers, so an answer
that is late ends the connection, and the next episode begins on a new one. It does not resume,
fork or judge: rewards are the server's, and episodes end without a verdict.
"""
