"""Compiled code must never be older than the rules that it was compiled from."""

from __future__ import annotations

import os

from solvent.compiled import drop_stale_cache


def test_compiled_code_older_than_a_source_is_dropped_and_younger_is_kept(tmp_path):
    source, cached = tmp_path / "rule.py", tmp_path / "__pycache__" / "step.nbi"
    cached.parent.mkdir()
    source.write_text("")
    cached.write_text("")
    os.utime(source, (100, 100))
    os.utime(cached, (200, 200))
    assert drop_stale_cache(tmp_path) == 0
    assert cached.exists()
    os.utime(source, (300, 300))
    assert drop_stale_cache(tmp_path) == 1
    assert not cached.exists()


def test_compiled_code_older_than_another_package_is_dropped(tmp_path):
    cached, other = tmp_path / "agents" / "script.nbi", tmp_path / "rules" / "rule.py"
    for path in (cached, other, cached.with_suffix(".py")):
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    os.utime(cached.with_suffix(".py"), (100, 100))
    os.utime(cached, (200, 200))
    os.utime(other, (300, 300))
    assert drop_stale_cache(cached.parent) == 0
    assert drop_stale_cache(cached.parent, other.parent) == 1


def test_a_package_that_was_never_compiled_has_nothing_to_drop(tmp_path):
    (tmp_path / "rule.py").write_text("")
    assert drop_stale_cache(tmp_path) == 0
