"""The session of docs/python.md, typed line by line."""
from __future__ import annotations

import doctest
import unittest
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
FEWEST_EXAMPLES = 15


class Session(unittest.TestCase):
    def test_prints_what_the_page_says(self) -> None:
        # ELLIPSIS is for what a message says behind its code.
        failed, tried = doctest.testfile(str(PAGE), module_relative=False, verbose=False, optionflags=doctest.ELLIPSIS)
        self.assertGreaterEqual(tried, FEWEST_EXAMPLES)
        self.assertEqual(failed, 0)


if __name__ == "__main__":
    unittest.main()
