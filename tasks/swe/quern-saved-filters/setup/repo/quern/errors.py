"""Errors."""


class FilterError(ValueError):
    """A text is no filter; `at` is the index of the character at which that shows."""

    def __init__(self, message: str, text: str, at: int) -> None:
        super().__init__(f"{message}\n  {text}\n  {' ' * at}^")
        self.message, self.at = message, at
