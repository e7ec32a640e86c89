"""Pages in a real browser: a script of the test runs in a headless Chromium after the page has drawn itself."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

LEAST_WINDOW = 500
"""Pixels below which Chromium makes no window."""

DRIVER = """
<script>addEventListener("load", async () => {
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const told = document.createElement("pre");
  told.id = "told";
  const total = document.querySelectorAll(".plot").length;
  const drawn = () => Number(document.documentElement.dataset.drawn) || 0;
  const early = drawn();
  for (let i = 0; i < 100 && drawn() < total; i++) await pause(50);
  if (drawn() < total) { dispatchEvent(new Event("beforeprint")); await pause(500); }  // paper shows all of them
  try { told.textContent = JSON.stringify(await (async () => { SCRIPT })()); }
  catch (error) { told.textContent = JSON.stringify({ error: String(error) }); }
  (frameElement ? parent.document : document).body.append(told);
});</script>
"""


def in_browser(page: Path, script: str, *, width: int = 1400) -> Any:
    """Return what the body of an asynchronous JavaScript function returns on a page whose figures are all drawn."""
    assert CHROMIUM is not None
    driven = page.with_name("driven.html")
    text = page.read_text(encoding="utf-8") + DRIVER.replace("SCRIPT", script)
    if width < LEAST_WINDOW:  # no window is so narrow: a frame in one is
        style = f"width:{width}px;height:900px;border:0"
        text = f'<!doctype html><body><iframe style="{style}" srcdoc="{html.escape(text)}"></iframe></body>'
    driven.write_text(text, encoding="utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000", "--dump-dom")
    profile = f"--user-data-dir={page.with_name('profile')}"
    done = subprocess.run(
        [CHROMIUM, *flags, profile, f"--window-size={width},900", driven.as_uri()],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    found = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None, done.stderr[-2000:]
    told = json.loads(html.unescape(found.group(1)))
    assert not (isinstance(told, dict) and "error" in told), told
    return told
