# SPDX-License-Identifier: Apache-2.0
"""That tests of what is missing fail where it is required."""
import os
import unittest
from unittest import mock

from requirement import needs


def failures(required: str) -> int:
    with mock.patch.dict(os.environ, {"TESSERA_TESTS_REQUIRE": required}):
        class Method(unittest.TestCase):
            @needs("moon", False)
            def test_one(self):
                pass

        @needs("moon", False)
        class Whole(unittest.TestCase):
            def test_one(self):
                pass

        load, result = unittest.TestLoader().loadTestsFromTestCase, unittest.TestResult()
        unittest.TestSuite([load(Method), load(Whole)]).run(result)
        return len(result.failures)


class Requirement(unittest.TestCase):
    def test_what_is_missing(self):
        self.assertEqual((failures("sun,moon"), failures("")), (2, 0))


if __name__ == "__main__":
    unittest.main()
