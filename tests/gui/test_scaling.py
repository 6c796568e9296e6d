"""The scale between a screen and its picture."""

import numpy as np
import pytest

from agentgym.gui.scaling import Scale


def test_a_picture_is_never_larger_than_the_screen_and_keeps_its_shape():
    assert Scale.fitting((1280, 800), (1280, 800)).picture == (1280, 800)
    assert Scale.fitting((1280, 800), (4000, 4000)).picture == (1280, 800)
    assert Scale.fitting((1280, 800), (640, 640)).picture == (640, 400)
    assert Scale.fitting((1280, 800), (1280, 100)).picture == (160, 100)


@pytest.mark.parametrize("most", [(1280, 800), (640, 640), (1000, 700), (333, 1000)])
def test_every_pixel_of_the_picture_is_one_of_the_screen_below_it(most):
    scale = Scale.fitting((1280, 800), most)
    width, height = scale.picture
    for x, y in ((0, 0), (width - 1, height - 1), (width // 3, height // 2)):
        there = scale.to_screen(x, y)
        assert 0 <= there[0] < 1280 and 0 <= there[1] < 800
        left, top, _, _ = scale.to_picture((*there, 1, 1))
        assert abs(left - x) <= 1 and abs(top - y) <= 1
        assert scale.holds(x, y)
    assert not scale.holds(width, 0) and not scale.holds(-1, 0) and not scale.holds(0, height)


def test_the_middle_of_a_box_stays_in_the_box():
    scale = Scale.fitting((1280, 800), (320, 320))
    x, y, width, height = scale.to_picture((101, 201, 40, 20))
    across, down = scale.to_screen(x + width / 2, y + height / 2)
    assert 101 <= across < 141 and 201 <= down < 221


def test_the_picture_shows_the_screen():
    screen = np.zeros((80, 128, 3), np.uint8)
    screen[40:, :] = (250, 0, 0)
    assert Scale((128, 80), (128, 80)).shown(screen) is screen
    half = Scale((128, 80), (64, 40)).shown(screen)
    assert half.shape == (40, 64, 3)
    assert half[5, 5].tolist() == [0, 0, 0] and half[35, 5].tolist() == [250, 0, 0]
