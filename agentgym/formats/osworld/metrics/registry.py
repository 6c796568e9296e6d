"""The metrics by name, and the module that holds each; it imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

INFEASIBLE: Final = "infeasible"
"""Not a metric: the task cannot be done, and the right answer is to give up."""

_NAMES: Final[Mapping[str, str]] = {
    "values": """check_direct_json_object check_gnome_favorite_apps check_include_exclude
        check_moved_jpgs check_text_enlarged compare_answer exact_match fuzzy_match is_in_list
        is_in_vm_clickboard is_utc_0 is_vlc_fullscreen literal_match match_in_list""",
    "web": """check_font_size check_history_deleted is_added_to_steam_cart is_cookie_deleted
        is_expected_active_tab is_expected_active_tab_approximate is_expected_bookmarks
        is_expected_installed_extensions is_expected_search_query is_expected_tabs
        is_expected_url_pattern_match is_extension_installed is_shortcut_on_desktop""",
    "texts": """check_csv check_line_number check_list compare_csv compare_python_pure_text
        compare_result_files compare_text_file diff_text_file file_contains""",
    "settings": """check_auto_saving_time check_config_status check_global_key_play_pause
        check_json check_json_keybindings check_json_settings check_libre_locale
        check_one_instance_when_started_from_file check_play_and_exit
        check_presenter_console_disable check_qt_bgcone check_qt_max_volume
        check_qt_minimal_view check_qt_slider_colours check_thunderbird_filter
        check_thunderbird_prefs compare_config find_default_font is_vlc_recordings_folder
        run_sqlite3""",
    "archives": "compare_archive compare_epub compare_zip_files",
    "tables": "compare_conference_city_in_order compare_table",
    "documents": """check_italic_font_size_14 check_tabstops compare_docx_files
        compare_docx_files_and_ignore_new_lines compare_docx_images compare_docx_lines
        compare_docx_tables compare_font_names compare_line_spacing compare_references
        compare_subscript_contains compare_unique_train_records contains_page_break
        evaluate_colored_words_in_tables evaluate_strike_through_last_paragraph fuzzy_place_math
        has_page_numbers_in_footers is_first_line_centered""",
    "slides": """check_image_stretch_and_center check_page_number_colors
        check_slide_orientation_Portrait check_strikethrough check_transition
        evaluate_presentation_fill_to_rgb_distance""",
    "presentations": "compare_pptx_files",
    "pdfs": "check_pdf_pages compare_pdfs",
    "images": """check_brightness_decrease_and_structure_sim
        check_contrast_increase_and_structure_sim check_file_exists_and_structure_sim
        check_green_background check_image_file_size check_image_mirror check_image_size
        check_palette_and_structure_sim check_saturation_increase_and_structure_sim
        check_structure_sim check_structure_sim_resized check_structure_sim_with_threshold
        check_textbox_on_leftside check_triangle_position compare_image_list compare_images""",
}
_PACKAGES: Final[Mapping[str, str]] = {
    "tables": "openpyxl",
    "documents": "docx",
    "presentations": "pptx",
    "slides": "pptx",
    "pdfs": "pypdf",
}
MODULES: Final[Mapping[str, str]] = {
    name: module for module, names in _NAMES.items() for name in names.split()
}
"""The module of each metric."""

_YAML: Final = "yaml"


def missing_package(name: str, options: Mapping[str, object] | None = None) -> str:
    """Return the Python package that a metric needs and this machine lacks; empty if none."""
    package = _PACKAGES.get(MODULES[name], "")
    if name == "check_json" and (options or {}).get("is_yaml"):
        package = _YAML
    return package if package and find_spec(package) is None else ""
