# SPDX-License-Identifier: Apache-2.0
"""`python -m tessera` is the command `tessera`."""
import sys

from . import command


def main() -> None:
    command.replace_process(sys.argv[1:])


if __name__ == "__main__":
    main()
