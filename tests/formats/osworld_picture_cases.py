"""Right and wrong pictures for the metrics of images."""

import numpy as np
from osworld_files import picture, texture


def coloured(pixels):
    return picture(np.clip(pixels, 0, 255).astype(np.uint8))


def triangle(at):
    pixels = np.full((60, 60, 3), 255, np.uint8)
    pixels[at : at + 10, at : at + 10] = (255, 255, 0)
    return picture(pixels)


def green(share):
    pixels = np.zeros((20, 20, 3), np.uint8)
    pixels[:, : int(20 * share)] = (10, 200, 20)
    return picture(pixels)


PLAIN = picture()
FLAT = picture((90, 120, 60))
FULL = texture().astype(float)
GREY = FULL.mean(axis=2, keepdims=True)
IMAGES = {
    "compare_images": (
        (PLAIN, PLAIN),
        [(FLAT, PLAIN), (None, PLAIN), (picture((0, 0, 0), size=(3, 3)), PLAIN)],
    ),
    "compare_image_list": (
        ([PLAIN, FLAT], [PLAIN, FLAT]),
        [([FLAT, PLAIN], [PLAIN, FLAT]), ([PLAIN, None], [PLAIN, FLAT]), ([PLAIN], [PLAIN, FLAT])],
    ),
    "check_structure_sim": (
        (coloured(FULL + 1), PLAIN),
        [(FLAT, PLAIN), (picture(texture((41, 30))), PLAIN), (None, PLAIN)],
    ),
    "check_file_exists_and_structure_sim": ((PLAIN, PLAIN), [(FLAT, PLAIN), (None, PLAIN)]),
    "check_structure_sim_with_threshold": (
        (PLAIN, PLAIN),
        [(FLAT, PLAIN), (None, PLAIN)],
        {"ssim_threshold": 0.8},
    ),
    "check_structure_sim_resized": (
        (PLAIN, PLAIN),
        [(FLAT, PLAIN), (picture((0, 0, 0, 0), mode="RGBA"), PLAIN), (None, PLAIN)],
    ),
    "check_image_mirror": (
        (coloured(FULL[:, ::-1]), PLAIN),
        [(PLAIN, PLAIN), (coloured(FULL[::-1]), PLAIN), (None, PLAIN)],
    ),
    "check_palette_and_structure_sim": (
        (picture(palette=True), PLAIN),
        [(PLAIN, PLAIN), (picture((90, 120, 60), palette=True), PLAIN), (None, PLAIN)],
    ),
    "check_brightness_decrease_and_structure_sim": (
        (coloured(FULL * 0.6), PLAIN),
        [
            (PLAIN, PLAIN),
            (coloured(FULL * 1.2), PLAIN),
            (coloured((255 - FULL) * 0.4), PLAIN),
            (picture((0, 0, 0)), PLAIN),
            (None, PLAIN),
        ],
    ),
    "check_saturation_increase_and_structure_sim": (
        (PLAIN, coloured(GREY + (FULL - GREY) * 0.97)),
        [(PLAIN, PLAIN), (FLAT, PLAIN), (None, PLAIN)],
    ),
    "check_contrast_increase_and_structure_sim": (
        (PLAIN, coloured(128 + (FULL - 128) * 0.7)),
        [
            (coloured(128 + (FULL - 128) * 0.7), PLAIN),
            (coloured(FULL[::-1, ::-1] * 2 - 128), PLAIN),
            (None, PLAIN),
        ],
    ),
    "check_green_background": (
        (green(1), green(0.5)),
        [(green(0.2), green(0.5)), (picture((0, 200, 0)), green(1)), (None, green(1))],
    ),
    "check_triangle_position": ((triangle(25),), [(triangle(2),), (picture((9, 9, 9)),), (None,)]),
    "check_textbox_on_leftside": (
        (coloured(np.where(np.arange(40)[None, :, None] < 1, 0, 255) * np.ones((30, 1, 3))),),
        [
            (coloured(np.where(np.arange(40)[None, :, None] > 30, 0, 255) * np.ones((30, 1, 3))),),
            (picture((255, 255, 255)),),
            (None,),
        ],
    ),
    "check_image_size": (
        (PLAIN, {"width": 40, "height": 30}),
        [
            (PLAIN, {"width": 30}),
            (picture((0, 0, 0, 0), mode="RGBA"), {"height": 30, "ignore_transparent": True}),
            (None, {}),
        ],
    ),
    "check_image_file_size": (
        (PLAIN, {"max_size": 100_000}),
        [(PLAIN, {"max_size": 10}), (None, {"max_size": 9})],
    ),
}
