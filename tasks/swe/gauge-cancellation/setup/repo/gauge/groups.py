"""Statistics by name."""

from collections.abc import Iterator

from gauge.moments import Moments


class Groups:
    """`Moments` by name."""

    def __init__(self) -> None:
        self._moments: dict[str, Moments] = {}

    def add(self, name: str, value: float, weight: float = 1) -> None:
        self[name].add(value, weight)

    def __getitem__(self, name: str) -> Moments:
        return self._moments.setdefault(name, Moments())

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._moments))

    def __len__(self) -> int:
        return len(self._moments)

    @property
    def total(self) -> Moments:
        """The statistics of all values."""
        total = Moments()
        for name in self:
            total.count += self[name].count
            total.sum += self[name].sum
            total.squares += self[name].squares
            for value in (self[name].least, self[name].most):
                if value is not None:
                    total.least = value if total.least is None else min(total.least, value)
                    total.most = value if total.most is None else max(total.most, value)
        return total
