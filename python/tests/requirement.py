# SPDX-License-Identifier: Apache-2.0
"""For tests of what not every machine has: where that is missing they are skipped, unless
$TESSERA_TESTS_REQUIRE names it ("torch")."""
import os
import unittest


def needs(what: str, found: bool):
    """A decorator of a test, or of a class of tests. One that fails is run in place of them."""
    required = what in os.environ.get("TESSERA_TESTS_REQUIRE", "").split(",")
    if found or not required:
        return unittest.skipIf(not found, f"needs {what}")

    def test_is_there(self):
        self.fail(f"{what} is missing, and TESSERA_TESTS_REQUIRE names it")

    def fail(test):
        if not isinstance(test, type):
            return test_is_there
        return type("Missing", (unittest.TestCase,), {"test_is_there": test_is_there})
    return fail
