# SPDX-License-Identifier: Apache-2.0
"""The ids that the Rust library `tokenizers` gives with this vocabulary's tokenizer.json."""
import unittest

from tokenizer import Tokenizer
from write_onnx import model_folder

EXPECTED = {
    "A cat sleeps on the sofa.": [101, 1037, 4937, 25126, 2006, 1996, 10682, 1012, 102],
    "Hello, World! It's $5+3 — naïve café.": [
        101, 7592, 1010, 2088, 999, 2009, 1005, 1055, 1002, 1019, 1009, 1017, 1517, 15743, 7668,
        1012, 102],
    "日本語 text": [101, 1864, 1876, 1950, 3793, 102],
    "unaffable embeddings": [101, 14477, 20961, 3468, 7861, 8270, 4667, 2015, 102],
    "Ωmega\tÅngström ½": [101, 1179, 4168, 3654, 17076, 15687, 1092, 102],
}


class TokenizerTest(unittest.TestCase):
    def setUp(self):
        self.tokenizer = Tokenizer(model_folder() / "vocab.txt")

    def test_ids(self):
        for text, ids in EXPECTED.items():
            with self.subTest(text):
                found, mask = self.tokenizer.encode(text, 128)
                self.assertEqual(found, ids + [0] * (128 - len(ids)))
                self.assertEqual(mask, [1] * len(ids) + [0] * (128 - len(ids)))

    def test_long_text_is_cut_and_still_ends_in_sep(self):
        found, mask = self.tokenizer.encode("word " * 500, 128)
        self.assertEqual((len(found), found[0], found[-1], sum(mask)), (128, 101, 102, 128))


if __name__ == "__main__":
    unittest.main()
