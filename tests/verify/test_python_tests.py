"""Which functions of a file of tests still assert something."""

from __future__ import annotations

import pytest

from agentgym import GuestFileError
from agentgym.verify.python_tests import asserting_tests

HONEST = b"""
import unittest

class Money(unittest.TestCase):
    def check(self, one, other):
        self.assertEqual(one, other)

    def test_helper(self):
        self.check(1, 1)

    def test_sub(self):
        for n in (1, 2):
            with self.subTest(n=n):
                self.assertTrue(n)

def test_plain():
    total = 1 + 1
    assert total == 2

def test_raises():
    with pytest.raises(ValueError):
        int("x")
"""
HOLLOW = b'''
import unittest
# def test_comment(): assert one

class Money(unittest.TestCase):
    def test_pass(self):
        pass

    def test_returns(self):
        return
        self.assertEqual(1, 1)

    @unittest.skip("later")
    def test_skipped(self):
        self.assertEqual(1, 1)

    def test_text(self):
        """self.assertEqual(1, 1)"""

    def test_constant(self):
        assert True

@unittest.skip("all of it")
class Dates(unittest.TestCase):
    def test_of_skipped_class(self):
        self.assertEqual(1, 1)
'''


def test_assertions_count_wherever_they_stand() -> None:
    names = {"test_helper", "test_sub", "test_plain", "test_raises"}
    assert asserting_tests(HONEST) == names


def test_hollow_tests_are_no_tests() -> None:
    assert asserting_tests(HOLLOW) == set()


def test_what_is_no_python_is_the_agents_fault() -> None:
    with pytest.raises(GuestFileError, match="is not Python"):
        asserting_tests(b"def test_(:")
