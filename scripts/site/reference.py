# SPDX-License-Identifier: Apache-2.0
"""The pages of reference, made from the code: by the command `tessera`, the headers, the list of
codes and the package for Python. Nothing of them is written by hand."""
import ast
import html
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_WRITTEN = "<!-- Made by scripts/site/reference.py. -->\n\n"


def block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.strip(chr(10))}\n```\n"


class Reference:
    def __init__(self, command: Path):
        self.command = command

    def said(self, *arguments: str) -> str:
        return subprocess.run([str(self.command), *arguments], check=True, capture_output=True,
                              text=True).stdout

    def commands(self) -> list[str]:
        listed = self.said("--help").split("Subcommands:\n")[1].split("\nEnvironment:")[0]
        return re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)

    def command_page(self) -> str:
        text = "# The command\n\n" + block(self.said("--help"))
        for name in self.commands():
            # What all have stands above; of passes there is a page.
            said = self.said(name, "--help").split("\nEnvironment:")[0].split("\nPasses:")[0]
            text += f"\n## tessera {name}\n\n" + block(said)
        return text

    def passes_page(self) -> str:
        text = ("# Passes\n\nIn the order in which `tessera opt --help` lists them; "
                "[what each does, in full](../passes.md).\n\n| pass | options | what it does |\n"
                "|---|---|---|\n")
        rows: list[list[str]] = []
        for line in self.said("opt", "--help").split("\nPasses:\n")[1].splitlines():
            if option := re.match(r"^ {6}(\S+)", line):
                rows[-1][1] += f" `{option[1]}`"
            elif named := re.match(r"^  (\S+) +(.*)", line):
                rows.append([named[1], "", html.escape(named[2], quote=False).replace("|", "\\|")])
            else:
                break
        return text + "".join(f"| `{n}` |{o} | {w} |\n" for n, o, w in rows)

    def patterns_page(self) -> str:
        text = ("# Patterns of the back ends\n\nThe composites that each looks for, in order of "
                "priority ([syntax](../patterns.md)). `tessera backends --patterns NAME` prints "
                "the patterns.\n")
        for name in re.findall(r"^(\w+) ", self.said("backends"), re.MULTILINE):
            done = subprocess.run([str(self.command), "backends", "--patterns", name],
                                  capture_output=True, text=True)
            composites = re.findall(r'^  composite "(.*)"', done.stdout, re.MULTILINE)
            if composites:
                text += f"\n## {name}\n\n" + block("\n".join(composites))
        return text

    def operators_page(self) -> str:
        text = "# Operators of the graph IR\n\n"
        for line in self.said("inspect", "--operators").splitlines():
            text += (f"**{html.escape(line)}**\n\n" if not line.startswith(" ")
                     else block(line.strip()) + "\n")
        return text

    def pages(self) -> dict[str, str]:
        """By name of file."""
        made = {"command.md": self.command_page(), "passes.md": self.passes_page(),
                "patterns.md": self.patterns_page(), "operators.md": self.operators_page(),
                "errors.md": errors_page(), "python.md": python_page(), "c.md": c_page()}
        return {name: _WRITTEN + text for name, text in made.items()}


def errors_page() -> str:
    text = "# Errors\n\n`tessera explain CODE` prints one of them.\n"
    codes = (ROOT / "src" / "diagnostics" / "codes.def").read_text(encoding="utf-8")
    for code, words in re.findall(r'^CODE\(\w+, "(E\d+)", "((?:[^"\\]|\\.)*)"\)', codes,
                                  re.MULTILINE):
        said = html.escape(words.replace('\\"', '"'), quote=False)
        text += f"\n## {code}\n\n{said}\n"
    return text


def _signature(node: ast.FunctionDef) -> str:
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({ast.unparse(node.args)}){result}"


def _described(title: str, node, level: int) -> str:
    text = f"\n{'#' * level} {title}\n\n"
    if isinstance(node, ast.FunctionDef):
        decorators = [ast.unparse(d) for d in node.decorator_list]
        if "property" not in decorators:
            text += block(_signature(node), "python") + "\n"
    elif node.bases:
        text += f"A kind of `{'`, `'.join(ast.unparse(b) for b in node.bases)}`.\n\n"
    documented = ast.get_docstring(node)
    return text + (block(documented) if documented else "")


def python_page() -> str:
    """What `tessera.__all__` names."""
    folder = ROOT / "python" / "tessera"
    nodes = {}
    for file in sorted(folder.glob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                nodes.setdefault(node.name, node)
    start = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    names = next(ast.literal_eval(n.value) for n in start.body
                 if isinstance(n, ast.Assign) and n.targets[0].id == "__all__")
    text = "# The package for Python\n\n[How it is used](../python.md).\n"
    for name in sorted(n for n in names if not n.startswith("_")):
        text += _described(f"tessera.{name}", nodes[name], 2)
        for member in getattr(nodes[name], "body", ()):
            shown = isinstance(member, ast.FunctionDef) and ast.get_docstring(member)
            if isinstance(nodes[name], ast.ClassDef) and shown and member.name[0] != "_":
                text += _described(f"{name}.{member.name}", member, 3)
    return text


def c_page() -> str:
    text = "# The interface in C\n\n[How it is used](../abi.md).\n"
    for name in ("tensor.h", "model.h", "call.h"):
        header = (ROOT / "include" / "tessera" / name).read_text(encoding="utf-8")
        text += f"\n## tessera/{name}\n"
        for i, part in enumerate(re.split(r"^// -{4} (.*?) -{4}$\n", header, flags=re.MULTILINE)):
            text += f"\n### {part}\n" if i % 2 else "\n" + block(part, "c")
    return text
