# SPDX-License-Identifier: Apache-2.0
"""How far a compilation is."""
from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """What a callback of `compile` is told: `share` of the work that `what` names is done, 0 to 1;
    or, with `seconds`, the stage `what` has ended with `result`, in a line."""
    what: str
    share: float | None = None
    seconds: float | None = None
    result: str = ""


class Bar:
    """A bar that is redrawn on one line of standard error, in terminals and notebooks."""
    COLUMNS, REDRAW_S = 30, 0.1

    def __init__(self, stream=None):
        self.stream = stream or sys.stderr
        self._next, self._is_drawn = 0.0, False

    def __call__(self, progress: Progress) -> None:
        if progress.share is None or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self.REDRAW_S
        full = int(progress.share * self.COLUMNS)
        bar = "#" * full + "." * (self.COLUMNS - full)
        self._write(f"\r{progress.what} [{bar}] {100 * progress.share:3.0f} %")
        self._is_drawn = True

    def close(self) -> None:
        if self._is_drawn:
            self._write("\r" + " " * 79 + "\r")
            self._is_drawn = False

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def _is_watched() -> bool:
    shell = sys.modules.get("IPython")
    return sys.stderr.isatty() or (shell is not None and shell.get_ipython() is not None)


def listener(progress: Callable[[Progress], object] | bool | None):
    """The callback, a bar, or None: for `progress` of `compile`."""
    if callable(progress):
        return progress
    wants = _is_watched() if progress is None else progress
    return Bar() if wants else None


def handler(listener):
    """What `command.events` calls."""
    def handle(kind: str, event: dict) -> None:
        if listener is None:
            return
        if kind == "stage":
            listener(Progress(event["name"], None, event["seconds"], event["what"]))
        else:
            listener(Progress(event["of"], event["share"]))
    return handle
