"""Command lines under test: ``call`` one in this process, ``launch`` a real one, type into a real terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

from solvent_experiments import cli

# A process that was started in the background ignores SIGINT; a person's does not.
PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from solvent_experiments.__main__ import main; sys.argv[0] = 'solvent'; main()"
)
# The terminal becomes the command's own, so that Ctrl-C is a signal as it is for a person.
AT_A_TERMINAL = f"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); {PROGRAM}"


class Ended(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str

    def refused(self, *parts: str) -> str:
        """The one line on stderr that refuses the input, which must contain ``parts``."""
        assert self.code == 2, self
        assert self.err.count("\n") == 1, self.err
        assert self.err.removesuffix("\n").isprintable(), self.err
        assert len(self.err) <= 1100, self.err
        assert "Traceback" not in self.err
        for part in parts:
            assert part in self.err, (part, self.err)
        return self.err

    def succeeded(self, *parts: str) -> str:
        """Stdout of a command that ended with 0, which must contain ``parts``."""
        assert self.code == 0, self
        for part in parts:
            assert part in self.out, (part, self.out)
        return self.out


def call(*arguments: object, typed: str = "", width: int | None = None) -> Ended:
    """Run ``solvent`` with ``arguments`` in this process, with ``typed`` on stdin, as wide as ``width``."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["solvent", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
        if width is not None:
            patch.setenv("COLUMNS", str(width))
        try:
            cli.main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
    return Ended(code, out.getvalue(), err.getvalue())


def console(width: int = 120, **options: object) -> Console:
    """A terminal that keeps what is printed; ``written`` returns it."""
    return Console(width=width, file=io.StringIO(), legacy_windows=False, **options)  # type: ignore[arg-type]


def written(page: Console) -> str:
    """The text printed on a ``console``."""
    assert isinstance(page.file, io.StringIO)
    return page.file.getvalue()


# ------------------------------------------------------------------------------------------ processes


def execute(
    *arguments: object, typed: str = "", env: Mapping[str, str] | None = None, timeout: float = 120.0
) -> Ended:
    """Run ``solvent`` in a process of its own to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "solvent_experiments", *map(str, arguments)],
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(env or {})},
        timeout=timeout,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def execute_python(program: str, *arguments: object, timeout: float = 120.0) -> Ended:
    """Run the text of a Python program in a process of its own to its end."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    return Ended(done.returncode, done.stdout, done.stderr)


Launch = Callable[..., "subprocess.Popen[str]"]


@contextmanager
def launching() -> Iterator[Launch]:
    """Yield ``start(*arguments)``, which starts ``solvent`` in a session of its own.

    Processes that still run at the end are killed with their children. ``program`` starts a Python file instead.
    """
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object, program: str | Path | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *([str(program)] if program else ["-c", PROGRAM]), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    try:
        yield start
    finally:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def wait_until(
    met: Callable[[], object], process: subprocess.Popen[str] | None = None, seconds: float = 120.0
) -> None:
    """Wait until ``met()`` is true; fail if the process ends or the time is over before."""
    deadline = time.monotonic() + seconds
    while not met():
        if process is not None and process.poll() is not None and not met():
            raise AssertionError(process.communicate())
        assert time.monotonic() < deadline, f"not met within {seconds} s"
        time.sleep(0.01)


# ------------------------------------------------------------------------------------------ a terminal


class Typist:
    """A command in a terminal of its own, and somebody at the keys."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self.master, self.process, self.raw = master, process, b""
        self._told = 0

    @property
    def seen(self) -> str:
        """All that was shown, without colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self.raw.decode("utf-8", "replace"))

    def until(self, text: str) -> str:
        """What was shown since the last time, up to ``text``."""
        begun = time.monotonic()
        while text not in self.seen[self._told :]:
            assert time.monotonic() - begun < 60.0, self.seen[self._told :]
            assert self._read(), self.seen[self._told :]
        start, self._told = self._told, self.seen.index(text, self._told) + len(text)
        return self.seen[start : self._told]

    def _read(self) -> bool:
        """Read what there is; false once the terminal has ended."""
        if not select.select([self.master], [], [], 1.0)[0]:
            return self.process.poll() is None
        try:
            data = os.read(self.master, 65536)
        except OSError:  # how a terminal ends
            return False
        self.raw += data
        return bool(data)

    def type(self, keys: str) -> None:
        """Type ``keys``."""
        os.write(self.master, keys.encode())

    def leave(self) -> int:
        """Wait for the end; return the exit code."""
        begun = time.monotonic()
        while self._read():
            assert time.monotonic() - begun < 60.0, self.seen
        return self.process.wait(30.0)


@contextmanager
def terminal(*arguments: object, width: int = 100, height: int = 50) -> Iterator[Typist]:
    """Run ``solvent`` in a terminal of that size, with somebody at the keys."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", AT_A_TERMINAL, *map(str, arguments)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": str(width), "LINES": str(height)},
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Typist(master, process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(master)
