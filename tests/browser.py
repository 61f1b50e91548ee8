"""Install Debian's Chromium where it is missing and we may, for the tests that look at a page."""

from __future__ import annotations

import os
import shutil
import subprocess

if shutil.which("chromium") is None:
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("Installing chromium, to look at a report's page (a minute)", flush=True)
        for words in ("update", "install -y --no-install-recommends chromium fonts-dejavu-core"):
            command = ["apt-get", "-qq", *words.split()]
            subprocess.run(
                command,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                capture_output=True,
                check=False,
            )
    if shutil.which("chromium") is None:
        print("no chromium: the tests that look at a page will be skipped (in CI as root: fail)")
