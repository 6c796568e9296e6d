"""Actions of a desktop in the forms of others, both ways: computer_13 and code for pyautogui.

Both are calls of pyautogui's functions (`verbs`), as dictionaries or as Python text.
"""
