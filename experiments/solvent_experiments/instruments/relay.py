"""Run a command and pass its output on, up to a number of bytes: ``python relay.py BYTES COMMAND...``.

A client that reads whole lines would keep an endless one in memory. Input and errors of the command are those of this
process.
"""

from __future__ import annotations

import subprocess
import sys

OVER = "solvent: the command has sent more than the limit"
"""The line that ends what is passed on of a longer output."""


def main(limit: int, command: list[str]) -> None:
    """Pass on the output of ``command``, and wait for its end."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while part := process.stdout.read1(2**16):  # type: ignore[attr-defined]
            limit -= len(part)
            if limit < 0:
                sys.stdout.buffer.write(f"\n{OVER}\n".encode())
                sys.stdout.buffer.flush()
                return
            sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
