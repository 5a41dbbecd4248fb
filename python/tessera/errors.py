# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as exceptions."""
from __future__ import annotations

from typing import NamedTuple


class TesseraWarning(UserWarning):
    """A compilation that goes on, or an array that had to be copied."""


class Note(NamedTuple):
    place: str
    text: str


class Diagnostic(NamedTuple):
    """What the compiler says of a model: an error or a warning."""
    severity: str   # "error" or "warning"
    code: str       # "E0302": `python -m tessera explain E0302`
    place: str      # "model.onnx: node `/encoder/Add`", "model.relay:7:8", or ""
    finding: str    # what was found, and the rule that it breaks
    rule: str       # what the code means, and what to do in general
    remedy: str     # what to do here, or ""
    notes: tuple[Note, ...]
    text: str       # all of it, as the command prints it


class Error(RuntimeError):
    """Base of all of them. `code`, `place`, `finding`, `rule` and `remedy` are texts, "" where
    there is nothing to say; the text of the exception has all but the rule."""
    code = place = finding = remedy = ""

    def __init__(self, finding: str, remedy: str = "", code: str = ""):
        super().__init__(f"{finding}: {remedy}" if remedy else finding)
        self.finding, self.remedy = finding, remedy
        if code:
            self.code = code

    def __reduce__(self):
        return type(self), (self.finding, self.remedy, self.code)

    @property
    def rule(self) -> str:
        """What the code means: two sentences."""
        from . import command
        return command.explanation(self.code) if self.code else ""


class CompileError(Error):
    """A model was not compiled. `diagnostics` has all that was found, warnings among them; the
    other attributes are those of the first error."""

    def __init__(self, diagnostics: list[Diagnostic]):
        super().__init__("\n".join(d.text.rstrip() for d in diagnostics))
        self.diagnostics = tuple(diagnostics)
        first = next(d for d in diagnostics if d.severity == "error")
        self.code, self.place, self.finding = first.code, first.place, first.finding
        self.remedy, self._rule = first.remedy, first.rule

    @property
    def rule(self) -> str:
        return self._rule

    def __reduce__(self):
        return CompileError, (list(self.diagnostics),)


class UsageError(Error, ValueError):
    """An argument of `compile` has a value that it cannot take."""
    code = "E0404"


class RunError(Error):
    """A call of a model's library failed. `status` is that of include/tessera/model.h."""
    code = "E0602"

    def __init__(self, finding: str, status: int = 0, remedy: str = "", code: str = ""):
        super().__init__(finding, remedy, code)
        self.status = status

    def __reduce__(self):
        return type(self), (self.finding, self.status, self.remedy, self.code)


class InputError(RunError, ValueError):
    """An array has the wrong name, type, shape, device or layout, or there are too many or few."""
    code = "E0601"


class NoArrayError(InputError, TypeError):
    """What was given is no array."""


class MachineError(RunError):
    """The library is for another CPU or GPU, or a vendor's library that it needs is missing."""


class MemoryShortage(RunError, MemoryError):
    """There is not enough memory for these sizes."""
    code = "E0601"


class BusyError(RunError):
    """The model runs in another thread, or the interpreter is about to end."""


class IndexOutsideError(RunError, IndexError):
    """An index that a run computed or was given lies outside of what it indexes."""
    code = "E0603"


# By status: the exception, and what to do.
OF_STATUS = {
    1: (InputError, ""),
    2: (RunError, "compile the model again with this version"),
    3: (MachineError, "compile it here, or with targets= of this machine"),
    4: (MachineError, "name the library's folder in TESSERA_LIBRARY_PATH, or compile with "
                      "bundle=\"inside\""),
    5: (MemoryShortage, "give smaller inputs"),
    7: (BusyError, "wait for it, or make the model with instances=N"),
    8: (IndexOutsideError, "correct the input"),
    9: (RunError, "copy the library again, or compile the model again"),
}
