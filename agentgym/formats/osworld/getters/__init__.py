"""The getters of OSWorld: how a value is read from the computer, a file or the task itself."""
