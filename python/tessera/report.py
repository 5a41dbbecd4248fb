# SPDX-License-Identifier: Apache-2.0
"""What a compilation did."""
from __future__ import annotations

from .errors import Diagnostic


class Report:
    """The report of `tessera.compile`. In a notebook it shows as the page of `compile --report`."""

    def __init__(self, data: dict, warnings: list[Diagnostic], page: str):
        self.data = data          # all of it, as `tessera compile --json` prints it
        self.warnings = warnings
        self.page = page          # HTML that needs nothing else

    @property
    def seconds(self) -> float:
        return self.data["seconds"]

    @property
    def stages(self) -> dict[str, float]:
        """Seconds of each stage."""
        return self.data["stages"]

    def rows(self) -> list[dict]:
        """A row for each region: `region`, `backend`, `operators`, `reason` (why a preferred back
        end declined, or ""). `pandas.DataFrame(report.rows())` is a table of them."""
        return [{"region": row["region"], "backend": row["backend"],
                 "operators": ", ".join(row["operators"]), "reason": row.get("reason", "")}
                for row in self.data["placement"]]

    def save(self, path) -> None:
        """Writes the page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.page)

    def __repr__(self) -> str:
        mb = {what: self.data[f"{what}_bytes"] / 1e6 for what in ("library", "weight", "arena")}
        backends: dict[str, int] = {}
        for row in self.data["placement"]:
            backends[row["backend"]] = backends.get(row["backend"], 0) + 1
        regions = ", ".join(f"{count} {name}" for name, count in sorted(backends.items()))
        return (f"<tessera.Report: regions {regions or 'none'}; library {mb['library']:.1f} MB, "
                f"weights {mb['weight']:.1f} MB, arena {mb['arena']:.1f} MB; "
                f"{self.seconds:.1f} s, {len(self.warnings)} warnings>")

    def _repr_html_(self) -> str:
        from html import escape
        # A frame: the page has a style of its own.
        return (f'<iframe srcdoc="{escape(self.page)}" style="width:100%;height:40em;border:0">'
                "</iframe>")
