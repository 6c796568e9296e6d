"""Errors of job files and graphs."""


class JobError(Exception):
    """A job is unknown, defined twice, or in another state than expected."""


class CircleError(JobError):
    """Jobs depend on each other in a circle; `names` are in the order of the circle."""

    def __init__(self, names: list[str]) -> None:
        super().__init__("a circle: " + " -> ".join([*names, names[0]]))
        self.names = names
