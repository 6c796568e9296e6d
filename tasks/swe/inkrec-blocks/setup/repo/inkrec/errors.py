"""Problems that a file can have."""


class FormatError(Exception):
    """The file is none of ours, or of a version or kind that is not known."""


class DamageError(Exception):
    """A record is torn or has another checksum.

    `offset` is where the record begins: everything before it can be read.
    """

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(f"damage at byte {offset}: {message}")
        self.offset = offset
