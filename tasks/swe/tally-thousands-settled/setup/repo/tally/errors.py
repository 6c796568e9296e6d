"""Everything that can be wrong with a journal."""


class JournalError(Exception):
    """A problem at a place of a journal."""

    def __init__(self, place, message):
        super().__init__(f"{place}: {message}")
        self.place = place
        self.message = message
