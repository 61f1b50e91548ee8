"""``solvent adequacy incident``: log failures, one that a person saw or those in the lab's own log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from solvent.files import appending
from solvent_experiments.config import ConfigError
from solvent_experiments.console import say, suggest
from solvent_experiments.instruments.adequacy.options import By
from solvent_experiments.instruments.outputs import require_place
from solvent_experiments.instruments.terminal import counted, one_line

if TYPE_CHECKING:
    from solvent.adequacy.fmea import Incident
    from solvent.adequacy.responses import Response

__all__ = ["incident", "incident_of", "log_incidents"]


def incident(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The responses or the session, or the lab's gate_verdicts.jsonl."
        ),
    ],
    name: Annotated[str | None, typer.Option("--id", metavar="ID", help="Id of the response.")] = None,
    severity: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="low, medium, high, or a rank from 1 to 10.")
    ] = None,
    occurrence: Annotated[
        int | None, typer.Option(min=1, max=10, help="How often it happens: 1 hardly ever, 10 nearly always.")
    ] = None,
    detectability: Annotated[
        int | None, typer.Option(min=1, max=10, help="1: seen at once, 10: nobody would notice.")
    ] = None,
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The failure, in a sentence.")
    ] = None,
    by: By = None,
    contradicted: Annotated[
        bool, typer.Option("--contradicted", help="The evidence at hand said the opposite.")
    ] = False,
    domain: Annotated[str, typer.Option(metavar="NAME", help="Subject of the response.")] = "code",
    out: Annotated[
        Path, typer.Option("--out", metavar="PATH", help="File to append the incident to.")
    ] = Path("incidents.jsonl"),
) -> None:
    """Log a response that was wrong, with its severity, occurrence and detectability; append to `incidents.jsonl`.

    From the lab's own log every published error is taken, with ranks that follow from the log.

    Examples:

    - `solvent adequacy incident responses.jsonl --id r1 --severity high --occurrence 4 --detectability 7
      --description "The client does retry" --by "J. Doe"`

    - `solvent adequacy incident runs/lab/ppo/seed-0/gate_verdicts.jsonl`
    """
    from solvent.adequacy.lab_log import incidents_of_lab, is_lab_log

    given = {
        "--id": name,
        "--severity": severity,
        "--occurrence": occurrence,
        "--detectability": detectability,
        "--description": description,
        "--by": by,
    }
    if is_lab_log(file):
        if more := [option for option, value in given.items() if value is not None]:
            raise ConfigError(f"{', '.join(more)}: got a log of the lab; allowed: without, it has them")
        found = incidents_of_lab(file)
    else:
        if missing := [option for option, value in given.items() if value is None]:
            raise ConfigError(
                f"{', '.join(missing)}: got nothing; allowed: all, a person says what went wrong"
            )
        found = [_of_person(file, given, contradicted=contradicted, domain=domain)]
    require_place("--out", out)
    new = log_incidents(out, found)
    for one in sorted(new, key=lambda one: -one.rpn)[:10]:
        say(
            f"RPN {one.rpn} ({one.severity} x {one.occurrence} x {one.detectability}), {one.rule}: "
            f"{one_line(one.description)}"
        )
    there = f"; {len(found) - len(new):,} were there" if len(new) < len(found) else ""
    say(f"logged {counted(len(new), 'incident')}{there}; written: {out}")
    if new:
        say(f"correction for the first: {new[0].correction().text}")
    suggest(f"`solvent adequacy patterns --incidents {out}` finds what precedes failures.")


def log_incidents(path: Path, found: Sequence[Incident]) -> list[Incident]:
    """Append the incidents whose id is not in the file, while nobody else appends one, and return them.

    Raises:
        AdequacyError: the file can't be read or written.
        OSError: it can't be locked.
    """
    from solvent.adequacy.fmea import append_incidents, read_incidents

    with appending(path):
        known = {one.id for one in read_incidents(path)} if path.exists() else set()
        new = [one for one in found if one.id not in known]
        append_incidents(path, new)
    return new


def _of_person(file: Path, given: dict[str, Any], *, contradicted: bool, domain: str) -> Incident:
    from solvent.adequacy.responses import read_responses

    for response in read_responses(file, skip_broken=True).each():
        if response.id == given["--id"]:
            return incident_of(
                response,
                severity=given["--severity"],
                occurrence=given["--occurrence"],
                detectability=given["--detectability"],
                description=given["--description"],
                by=given["--by"],
                domain=domain,
                contradicted=contradicted,
            )
    raise ConfigError(
        f"--id: got {given['--id']!r:.60}; allowed: the id of a response in {file} (`score` shows them)"
    )


def incident_of(
    response: Response,
    *,
    severity: str,
    occurrence: int,
    detectability: int,
    description: str,
    by: str,
    domain: str,
    contradicted: bool,
) -> Incident:
    """Return the incident that a person reports about a response; ``severity`` is a name or a rank.

    Raises:
        AdequacyError: a value is not allowed.
    """
    from solvent.adequacy.fmea import Incident, severity_named
    from solvent.adequacy.heuristic import score

    return Incident(
        severity=int(severity) if severity.isdecimal() else severity_named(severity).rank,
        occurrence=occurrence,
        detectability=detectability,
        description=description,
        query=response.query or "",
        response=response.text,
        context=response.context,
        rule=score(response.text, response.context, response.query).rule,
        domain=domain,
        reported_by=by,
        contradicted=contradicted,
    )
