"""Count the tests of a report: ``python tests/totals.py FILE``."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

path = Path(sys.argv[1])
if not path.exists():
    sys.exit("no report, so the tests did not finish")
suites = list(ElementTree.parse(path).getroot().iter("testsuite"))
ran, failed, broken, skipped = (
    sum(int(s.get(key, 0)) for s in suites) for key in ("tests", "failures", "errors", "skipped")
)
print(f"{ran - failed - broken - skipped} passed, {failed + broken} failed, {skipped} skipped")
