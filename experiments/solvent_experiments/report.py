"""The report: one HTML page about finished runs, which needs no network and no other file.

Texts from the runs are escaped, and the page's content security policy allows nothing but its own style and script.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from solvent import LabEnv
from solvent.files import require_writable, write_atomically
from solvent.lab.rendering.text import ESCAPE
from solvent_experiments.config import ConfigError
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.drawing import CAPTIONS, FIGURES, draw
from solvent_experiments.folder import RunFolder, select
from solvent_experiments.run import trained_for
from solvent_experiments.summary import result_tables
from solvent_experiments.text import page_templates


def write_report(roots: Sequence[Path], out: Path | None) -> Path:
    """Write the page about these runs and return its path.

    Args:
        roots: folders of finished runs.
        out: the file; by default ``report.html``, in the folder of a single run, otherwise in the working directory.

    Raises:
        ConfigError: a run is unfinished, or ``out`` has another ending than ``.html``.
    """
    out = out or (roots[0] if len(roots) == 1 else Path()) / "report.html"
    if out.suffix.lower() not in (".html", ".htm") or out.is_dir():
        raise ConfigError("allowed: a file whose name ends in .html", file=out, key="--out")
    folders = [RunFolder(root) for root in roots]
    manifests = [folder.read_manifest() for folder in folders]  # of all, before a figure is drawn
    require_writable(out)
    write_atomically(out, _page(list(map(_section, folders, manifests))))
    return out


def _section(folder: RunFolder, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a run, as the template names it."""
    run = load_run(folder)
    experiment = run.experiment
    if not folder.figures.exists():
        draw(folder)
    pictures = {name: folder.figures / f"{name}.png" for name in FIGURES}
    episode, frames = _episode(run)
    return {
        "title": experiment.name,
        "env": experiment.env,
        "mark": experiment.mark,
        "tables": result_tables(run.rows),
        "trained": trained_for(experiment),
        "pictures": [
            {
                "name": name,
                "about": CAPTIONS[name],
                "image": _base64(path.read_bytes()),
            }
            for name, path in pictures.items()
            if path.exists()
        ],
        "episode": episode,
        "frames": frames,
        "config": folder.config.read_text(encoding="utf-8"),
        "manifest": manifest,
    }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _episode(run: RunData) -> tuple[str, list[str]]:
    """Return what a typical traced episode of the best agent is, and the lab as text after each of its actions.

    It is the one whose return is the median, so neither a lucky nor an unlucky one.
    """
    agent = next((row.agent for row in run.rows if row.agent in run.traces["agent"]), None)
    if agent is None:
        return "", []
    traces = run.traces_of(agent)
    traces = select(traces, traces["training_seed"] == traces["training_seed"][0])
    seeds, returns = (run.sample(agent, name).groups[0] for name in ("episode_seed", "return"))
    traced = np.flatnonzero(np.isin(seeds, traces["episode_seed"]))
    seed = int(seeds[traced[np.argsort(returns[traced], kind="stable")[len(traced) // 2]]])
    env = LabEnv(run.lab, render_mode="ansi")
    env.reset(seed=seed)
    frames = [env.render()]
    for action in traces["action"][traces["episode_seed"] == seed][1:]:
        env.step(int(action))
        frames.append(env.render())
    about = f"{agent}, seed {seed}: its median return among the traced episodes"
    return about, [ESCAPE.sub("", str(frame)) for frame in frames]


def _page(sections: Sequence[dict[str, Any]]) -> str:
    folder = files("solvent_experiments") / "templates"
    template, style, script = (
        (folder / f"report.{kind}").read_text(encoding="utf-8") for kind in ("html.j2", "css", "js")
    )
    hashes = {
        f"{name}_hash": f"'sha256-{_base64(hashlib.sha256(text.encode()).digest())}'"
        for name, text in (("style", style), ("script", script))
    }
    parts = {"style": Markup(style), "script": Markup(script)}
    return page_templates().from_string(template).render(sections=sections, **parts, **hashes)
