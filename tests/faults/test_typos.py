"""Typing mistakes in the documented commands: one line says what was meant, or what is allowed."""

import pytest

from tests.commands import call

TYPOS = {
    "runn run.yaml": "Did you mean 'run'?",
    "run rnu.yaml": "can't be read (No such file or directory); did you mean 'run.yaml'?",
    "run run.yaml --seed 0": "No such option: --seed (Possible options: --seeds)",
    "run run.yaml --seeds 0:4": "--seeds: got '0:4'; allowed: numbers and rising ranges",
    "evaluate honset": "unknown agent 'honset'; did you mean 'honest'?",
    "evaluate honest --env Solvent/Dept-v0": "did you mean 'Solvent/Debt-v0'?",
    "evaluate honest --params debt.treshold=1.0": "unknown key; did you mean 'threshold'?",
    "evaluate honest --params debt.threshold:1.0": "such as debt.threshold=1.0",
    "play --agent honset": "unknown agent 'honset'; did you mean 'honest'?",
    "explain --env Solvent/Lba-v0": "did you mean 'Solvent/Lab-v0'?",
    "tools serve.py": "no such command; allowed: the command of an MCP server, or its URL",
    "compare honest max_claimer": "`solvent evaluate` compares scripts",
    "export runs/quikstart --csv": "no run; did you mean 'runs/quickstart'?",
    "leaderboard runs/quikstart": "no run; did you mean 'runs/quickstart'?",
    "report runs/quikstart": "no run; did you mean 'runs/quickstart'?",
    "study show prediction": "did you mean 'predictions'?",
    "gate judge claims.json --policy standard": "No such file or directory; did you mean 'claims.jsonl'?",
    "adequacy score session.json": "No such file or directory; did you mean 'session.jsonl'?",
    "adequacy score transcript": "allowed: a transcript, or JSON lines of responses",
    "adequacy label --id r1 --epad 4 --by J": "less than or equal to 3",
    "proposals list --status open": "'--status': 'open' is not one of 'pending', 'approved'",
}


@pytest.mark.parametrize("line", TYPOS)
def test_a_typing_mistake_is_answered_with_what_is_allowed(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "quickstart").mkdir(parents=True)
    for name in ("run.yaml", "claims.jsonl", "session.jsonl"):
        (tmp_path / name).write_text("{}\n", encoding="utf-8")
    call(*line.split()).refused(TYPOS[line])
