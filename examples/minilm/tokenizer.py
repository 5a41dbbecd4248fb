# SPDX-License-Identifier: Apache-2.0
"""WordPiece for uncased BERT vocabularies: text -> ids, from vocab.txt alone."""
import unicodedata
from pathlib import Path

MAX_WORD = 100  # longer words are [UNK]


def is_punctuation(char: str) -> bool:
    # BERT counts all ASCII symbols, `$` and `+` too, as punctuation.
    return unicodedata.category(char).startswith("P") or (
        char.isascii() and char.isprintable() and not char.isalnum() and char != " ")


def is_cjk(char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in (
        (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
        (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)))


def words(text: str) -> list[str]:
    """Lower case, no accents; punctuation and CJK characters are words of their own."""
    spaced = []
    for char in unicodedata.normalize("NFD", text).lower():
        category = unicodedata.category(char)
        if char.isspace():
            spaced.append(" ")
        elif category in ("Mn", "Cc", "Cf", "Co") or char == "\ufffd":
            continue
        elif is_punctuation(char) or is_cjk(char):
            spaced.append(f" {char} ")
        else:
            spaced.append(char)
    return "".join(spaced).split()


class Tokenizer:
    def __init__(self, vocab: Path):
        self.ids = {t: i for i, t in enumerate(vocab.read_text("utf-8").splitlines())}

    def pieces(self, word: str) -> list[int]:
        """The longest known prefix, then the longest known `##` continuations."""
        found, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                if (piece := self.ids.get(prefix + word[start:end])) is not None:
                    break
            else:
                return [self.ids["[UNK]"]]
            found.append(piece)
            start = end
        return found

    def encode(self, text: str, length: int) -> tuple[list[int], list[int]]:
        """Ids and mask, both of `length`: [CLS] pieces [SEP] and zeros."""
        unknown = [self.ids["[UNK]"]]
        pieces = [p for w in words(text)
                  for p in (self.pieces(w) if len(w) <= MAX_WORD else unknown)]
        ids = [self.ids["[CLS]"], *pieces[:length - 2], self.ids["[SEP]"]]
        padding = [0] * (length - len(ids))
        return ids + padding, [1] * len(ids) + padding
