"""Finds the border of the print by its colour, and drags two corners of the crop to its inside."""

from agentgym.task.reference_policy import shared_policies

pictures = shared_policies("desktop", "pictures")

SIZE = (960, 640)
INSIDE = 1
TARGET = "/home/user/Pictures/harbour.png"


def inside(pale):
    """Return first and last place between the two runs of lines that are pale all along."""
    runs = pale > 0.95 * pale.max()
    places = [place for place in range(len(runs)) if runs[place]]
    gap = max(range(len(places) - 1), key=lambda number: places[number + 1] - places[number])
    return places[gap] + 1, places[gap + 1] - 1


def solve(view):
    yield from pictures.choose_tool(view, "Crop")
    x, y = pictures.CANVAS
    part = pictures.screen(view)[y : y + SIZE[1], x : x + SIZE[0]]
    pale = (abs(part - (243, 240, 231)) < 12).all(axis=2)
    left, right = inside(pale.sum(axis=0))
    top, bottom = inside(pale.sum(axis=1))
    left, top, right, bottom = left + INSIDE, top + INSIDE, right - INSIDE, bottom - INSIDE
    yield view.act("drag", from_x=x + 6, from_y=y + 6, to_x=x + 6 + left, to_y=y + 6 + top)
    # The part that is left begins at the corner of the canvas now.
    wide, high = SIZE[0] - left, SIZE[1] - top
    yield from pictures.until(view, lambda: pictures.numbers(view) == [wide, high], "the corner")
    less, lower = wide - (right - left + 1), high - (bottom - top + 1)
    yield view.act(
        "drag",
        from_x=x + wide - 6,
        from_y=y + high - 6,
        to_x=x + wide - 6 - less,
        to_y=y + high - 6 - lower,
    )
    size = [wide - less, high - lower]
    yield from pictures.until(view, lambda: pictures.numbers(view) == size, "the other corner")
    yield from pictures.apply(view)
    yield from pictures.save_picture_as(view, TARGET)
