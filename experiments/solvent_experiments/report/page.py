"""The report: one self-contained HTML page about finished runs.

Style, script, figures and episodes are inside the page. Its content security policy blocks all other resources and
scripts. Tables and figures are plain HTML; the script steps through the episodes, a block of JSON. Names are
untrusted: the template escapes them, and the script only writes text.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from solvent_experiments.artifacts.files import require_writable, write_atomically
from solvent_experiments.artifacts.folder import RunFolder, Unit
from solvent_experiments.artifacts.integrity import finished_manifest
from solvent_experiments.artifacts.parquet import NO_SEED
from solvent_experiments.config.documents import ConfigError, read_document
from solvent_experiments.figures import FIGURES
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.style import as_image, head, styled
from solvent_experiments.measure.results import result_tables
from solvent_experiments.measure.table import Table
from solvent_experiments.report.conversations import add_conversations, model_tables, talking_units
from solvent_experiments.report.episodes import Chosen, chosen_episodes, replayed, require_actions
from solvent_experiments.report.frames import lab_facts
from solvent_experiments.report.gate import Spans
from solvent_experiments.report.provenance import Provenance, provenance
from solvent_experiments.report.tables import Change, config_changes, refusal_table
from solvent_experiments.run.console import visible
from solvent_experiments.run.progress import Shown

__all__ = ["REPORT", "write_report"]

REPORT = "report.html"
STYLES = ("pages.css", "report.css")
SCRIPTS = ("drawing.js", "books.js", "plate.js", "belief.js", "findings.js", "talk.js", "player.js")
HEAVY = 120_000  # bytes of an SVG; a PNG of the same figure is smaller
SUFFIXES = (".html", ".htm")


@dataclass(frozen=True)
class Picture:
    name: str
    about: str
    uri: str


@dataclass(frozen=True)
class Section:
    label: str
    root: Path
    data: RunData
    config: str
    changes: tuple[Change, ...]
    results: tuple[Table, ...]
    refusals: Table
    provenance: Provenance
    chosen: tuple[Chosen, ...]
    talking: Sequence[Unit]


def write_report(roots: Sequence[Path], out: Path | None, shown: Shown) -> Path:
    """Write the page about these runs and return its path.

    Args:
        roots: folders of finished runs.
        out: the file; default ``report.html``, in the folder of a single run, otherwise in the working directory.
        shown: where progress is shown.

    Raises:
        ConfigError: a run is unfinished, given twice or can't be replayed, or ``out`` is no HTML file.
        OSError: the file can't be written.
    """
    out = _target(roots, out)
    sections = [_section(root, label) for root, label in zip(roots, _labels(roots), strict=True)]
    with shown:
        pictures = _pictures(sections, shown)
        runs = _runs(sections, shown)
        write_atomically(out, _page(sections, pictures, runs))
    return out


def _target(roots: Sequence[Path], out: Path | None) -> Path:
    """Return the path of the page. Check it and the runs before the work starts."""
    if twice := [root for root, count in Counter(root.resolve() for root in roots).items() if count > 1]:
        raise ConfigError("is given twice; allowed: once", file=twice[0])
    for root in roots:
        finished_manifest(RunFolder(root))
    if out is None:
        out = roots[0] / REPORT if len(roots) == 1 else Path(REPORT)
    if out.suffix.lower() not in SUFFIXES or out.is_dir():
        raise ConfigError("allowed: a file whose name ends in .html", file=out, key="--out")
    require_writable(out)
    return out


def _labels(roots: Sequence[Path]) -> list[str]:
    """Return the names of the runs, with their folders where names repeat."""
    names = [
        visible(str(read_document(RunFolder(root).config).data.get("name", root.name))) for root in roots
    ]
    return [
        name if names.count(name) == 1 else f"{name} ({root})"
        for name, root in zip(names, roots, strict=True)
    ]


def _section(root: Path, label: str) -> Section:
    folder = RunFolder(root)
    data = load_run(folder)
    require_actions(data.traces, root)
    talking = talking_units(folder) if data.models else []
    return Section(
        label=label,
        root=root,
        data=data,
        config=folder.config.read_text(encoding="utf-8"),
        changes=tuple(config_changes(read_document(folder.config).data)),
        results=(*result_tables(data.rows), *model_tables(talking)),
        refusals=refusal_table(data),
        provenance=provenance(folder, finished_manifest(folder)),
        chosen=tuple(chosen_episodes(data)),
        talking=talking,
    )


# -- figures and episodes


def _pictures(sections: Sequence[Section], shown: Shown) -> list[list[Picture]]:
    pictures: list[list[Picture]] = []
    total = len(sections) * len(FIGURES)
    for section in sections:
        drawn: list[Picture] = []
        for tried, (name, draw) in enumerate(FIGURES.items()):
            shown.update("figures", "drawing", len(pictures) * len(FIGURES) + tried, total, "kinds")
            with styled():
                if (figure := draw(section.data)) is not None:
                    about = (draw.__doc__ or "").strip().splitlines()[0]
                    head(figure, section.data.heading, section.data.mark)
                    drawn.append(Picture(name, about, _uri(figure, section.data.name)))
        pictures.append(drawn)
    shown.end("figures", f"{sum(map(len, pictures))} drawn; those without data are left out")
    return pictures


def _uri(figure: Figure, salt: str) -> str:
    """Return a data URI of the figure: SVG, or PNG if the SVG is large."""
    kind, image = "svg+xml", as_image(figure, "svg", salt)
    if len(image) > HEAVY:
        kind, image = "png", as_image(figure, "png")
    return f"data:image/{kind};base64,{base64.b64encode(image).decode('ascii')}"


def _runs(sections: Sequence[Section], shown: Shown) -> list[dict[str, Any]]:
    """Return the data for the page's script: the lab, evidence and episodes of each run."""
    total = sum(len(section.chosen) for section in sections)
    runs: list[dict[str, Any]] = []
    done = 0

    def on_done() -> None:
        nonlocal done
        done += 1
        shown.update("episodes", "replaying", done, total, "episodes")

    shown.update("episodes", "replaying", 0, max(1, total), "episodes")
    for section in sections:
        spans = Spans()
        episodes = replayed(section.data, section.chosen, section.root, spans, on_done)
        facts = {"label": section.label, "lab": lab_facts(section.data.params)}
        prompts = add_conversations(section.talking, episodes)
        runs.append({**facts, "episodes": episodes, "sentences": spans.sentences, "prompts": prompts})
    shown.end("episodes", f"{total} replayed")
    return runs


# -- the page


def _page(sections: Sequence[Section], pictures: list[list[Picture]], runs: list[dict[str, Any]]) -> str:
    folder = files("solvent_experiments.report") / "assets"
    script = "\n" + "\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)
    style = "\n" + "".join((folder / name).read_text(encoding="utf-8") for name in STYLES)
    environment = Environment(
        loader=PackageLoader("solvent_experiments.report", "assets"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "separators": (",", ":"),
        "ensure_ascii": False,
        "allow_nan": False,
    }
    page: str = environment.get_template("report.html.j2").render(
        sections=list(zip(sections, pictures, strict=True)),
        runs=runs,
        next_steps=_next_steps(sections[0]),
        style=style,
        script=script,
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
    )
    return page


def _next_steps(section: Section) -> list[tuple[str, str]]:
    """Return what a reader may do after the page, each with its command."""
    data, steps = section.data, []
    watched = next((one for one in section.chosen if one.agent not in data.models), None)
    if watched and not data.mark:  # `solvent play` knows the level alone
        policy = section.root / watched.agent / f"seed-{watched.training_seed}" / "policy.safetensors"
        agent = watched.agent if watched.training_seed == NO_SEED else str(policy)
        command = ["play", "--env", data.env, "--agent", agent, "--seed", str(watched.episode_seed)]
        steps.append((f"Watch {watched.label} play the first of these episodes", command))
    steps += [
        ("Put another run beside this one", ["report", str(section.root), "OTHER_RUN"]),
        ("Change a rule in a copy of the config, and run it", ["run", "COPY.yaml", "--out", "runs/mine"]),
    ]
    return [(about, shlex.join(["solvent", *command])) for about, command in steps]


def _shown(value: Any) -> Any:
    """Return what a page shows of a text: markup is escaped by the template, marks of direction and the like here."""
    return value if not isinstance(value, str) or isinstance(value, Markup) else visible(value, "\n")


def _csp_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
