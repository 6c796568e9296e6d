"""Task authoring: a folder to start from, a sandbox to try it in, and checks of soundness."""
