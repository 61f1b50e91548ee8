"""Command lines under test: ``call`` one in this process, ``launch`` a real one."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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


def execute_python(
    program: str, *arguments: object, flags: Sequence[str] = (), env: Mapping[str, str] | None = None,
    timeout: float = 120.0,
) -> Ended:  # fmt: skip
    """Run the text of a Python program in a process of its own to its end, with ``env`` beside the environment."""
    command = [sys.executable, *flags, "-c", program, *map(str, arguments)]
    environment = {**os.environ, **(env or {})}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=timeout
    )
    return Ended(done.returncode, done.stdout, done.stderr)


Launch = Callable[..., "subprocess.Popen[str]"]
LONGEST = 600.0


@contextmanager
def launching() -> Iterator[Launch]:
    """Yield ``start(*arguments)``, which starts ``solvent`` in a session of its own.

    Processes that still run at the end, or after ``LONGEST`` seconds, are killed with their children, so that whoever
    waits for their output is told. ``program`` starts a Python file instead.
    """
    started: list[tuple[subprocess.Popen[str], threading.Timer]] = []

    def start(*arguments: object, program: str | Path | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *([str(program)] if program else ["-c", PROGRAM]), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        limit = threading.Timer(LONGEST, os.killpg, (process.pid, signal.SIGKILL))
        limit.start()
        started.append((process, limit))
        return process

    try:
        yield start
    finally:
        for process, limit in started:
            limit.cancel()
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
