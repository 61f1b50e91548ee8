"""The verdict on one response right after it was given, as a line of JSON in and a line out.

A request is a line of a file of responses (``{response, tool_calls | messages, query?}``), or ``{"transcript_path":
PATH}``, whose last response is judged; other keys beside the path are passed over, as programs that call hooks send
many. The answer has the ``verdict`` by the lab's limits (score 0 or 1: accept, 2: review, 3: reject), the score with
its grounds, and the ``correction`` for the next response, null where the verdict is accept.

``serve`` answers on a Unix socket, so that a program that runs after every response needn't start an interpreter each
time. Of a transcript only the end is read, back to the beginning of the last turn.

Source: *Epistemic Adequacy Design*, phases 2 and 3. Known approximation: the correction is the one of a failure that
nobody acted on, because nothing followed from the response yet.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from solvent.adequacy.corrections import correction_for, kind_of
from solvent.adequacy.decisions import Trigger, triggered
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import CLAIM_CONTRADICTED, score
from solvent.adequacy.jsonl import json_object
from solvent.adequacy.lexicon import load_lexicon
from solvent.adequacy.responses import Response, last_response, response_of
from solvent.files import LONGEST_LINE
from solvent.lab.mechanisms.adequacy import AdequacyParams, words_verdict

__all__ = ["answer", "listening", "serve", "verdict_on"]

VERDICTS = ("accept", "review", "reject")
_LIMITS = AdequacyParams()
_SEVERITY = "low"


def answer(request: bytes, triggers: Sequence[Trigger] = ()) -> dict[str, Any]:
    """Return the verdict on the response of a request.

    Raises:
        AdequacyError: the request or the transcript that it names can't be read.
    """
    fields = json_object(request)
    path = fields.get("transcript_path")
    if path is None:
        return verdict_on(response_of(fields), triggers)
    if not isinstance(path, str) or not path.strip():
        raise AdequacyError(f"transcript_path: got {path!r:.80}; allowed: the path of a session's transcript")
    return verdict_on(last_response(Path(path)), triggers)


def verdict_on(response: Response, triggers: Sequence[Trigger] = ()) -> dict[str, Any]:
    """Return the verdict on a response with its grounds, ready for JSON."""
    found = triggered(score(response.text, response.context, response.query), response.context, triggers)
    verdict = VERDICTS[words_verdict(found.score, _LIMITS.review_from, _LIMITS.reject_from)]
    sentences = [one for one in found.sentences if one.words is not None]
    said = max(sentences, key=lambda one: one.score).text if sentences else ""
    kind = kind_of(found.rule, contradicted=CLAIM_CONTRADICTED in found.signals)
    return {
        "verdict": verdict,
        "score": found.score,
        "rule": found.rule,
        "signals": list(found.signals),
        "escalate": found.escalate,
        "sentence": said,
        "correction": None if verdict == "accept" else correction_for(_SEVERITY, kind).text,
        "id": response.id,
    }


def listening(path: Path) -> bool:
    """Return whether a server answers at a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(os.fspath(path))
        except OSError:
            return False
    return True


def serve(path: Path, triggers: Sequence[Trigger] = ()) -> socketserver.ThreadingUnixStreamServer:
    """Return a server bound to a Unix socket that only its owner may use. A socket that nobody serves is replaced.

    Raises:
        AdequacyError: a server listens there, the path is another file, or no socket can be made there.
    """
    try:
        if path.exists():
            if not stat.S_ISSOCK(path.stat().st_mode) or listening(path):
                raise AdequacyError(f"{path}: in use; allowed: a path where nothing is")
            path.unlink()
        before = os.umask(0o177)
        try:
            server = _Server(os.fspath(path), _Handler)
        finally:
            os.umask(before)
    except OSError as error:
        said = error.strerror or error
        raise AdequacyError(f"{path}: no socket, {said}; allowed: a short path in a folder") from None
    server.triggers = tuple(triggers)
    load_lexicon()  # before the first request, which then needn't wait for it
    return server


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    triggers: tuple[Trigger, ...] = ()


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        while line := self.rfile.readline(LONGEST_LINE + 1):
            if not line.strip():
                continue
            try:
                if len(line) > LONGEST_LINE:
                    raise AdequacyError(
                        f"request: longer than {LONGEST_LINE:,} bytes; allowed: a shorter one"
                    )
                told = answer(line, self.server.triggers)
            except AdequacyError as error:
                told = {"error": str(error)}
            try:
                self.wfile.write(json.dumps(told, ensure_ascii=True).encode("ascii") + b"\n")
            except OSError:
                return  # the other side has gone
            if len(line) > LONGEST_LINE:
                return
