"""Count the tests of both passes from their reports: ``python tests/totals.py FOLDER``. The last line is the sum."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

total = [0, 0, 0]
for name in ("compiled", "plain"):
    path = Path(sys.argv[1], f"{name}.xml")
    if not path.exists():
        sys.exit(f"{name}: no report, so the pass did not finish")
    suites = list(ElementTree.parse(path).getroot().iter("testsuite"))
    ran, failed, broken, skipped = (
        sum(int(s.get(key, 0)) for s in suites) for key in ("tests", "failures", "errors", "skipped")
    )
    counts = [ran - failed - broken - skipped, failed + broken, skipped]
    print("{}: {} passed, {} failed, {} skipped".format(name, *counts))
    total = [a + b for a, b in zip(total, counts, strict=True)]
print("{} passed, {} failed, {} skipped".format(*total))
