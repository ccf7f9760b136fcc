"""Headless Chromium, driven through chromedriver by plain HTTP."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = None if CHROMIUM and DRIVER else "needs chromium and chromedriver, which are not here"
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Browser:
    def __init__(self, address: str) -> None:
        self._address = address
        options = {"binary": CHROMIUM, "args": ARGUMENTS}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self._session = self._send("", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def _send(self, path: str, data: Any, method: str = "POST") -> Any:
        request = urllib.request.Request(
            f"{self._address}/session{path}", json.dumps(data).encode(), method=method
        )
        with _DIRECT.open(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, page: Path) -> None:
        self._send(f"/{self._session}/url", {"url": page.as_uri()})

    def run(self, script: str) -> Any:
        return self._send(f"/{self._session}/execute/sync", {"script": script, "args": []})

    def emulate(self, width: int, *, dark: bool = False) -> None:
        """A screen of some width that prefers light or dark pages, from the next page on."""
        phone = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._command("Emulation.setDeviceMetricsOverride", phone)
        self._command("Emulation.setEmulatedMedia", {"features": [scheme]})

    def _command(self, name: str, parameters: dict[str, Any]) -> None:
        wanted = {"cmd": name, "params": parameters}
        self._send(f"/{self._session}/goog/cdp/execute", wanted)

    def text(self, identifier: str) -> str:
        return str(self.run(f"return document.getElementById('{identifier}').textContent"))

    def _element(self, identifier: str) -> str:
        wanted = {"using": "css selector", "value": f"#{identifier}"}
        found = self._send(f"/{self._session}/element", wanted)
        return f"/{self._session}/element/{next(iter(found.values()))}"

    def click(self, identifier: str) -> None:
        """A click of the mouse: refused if something else lies above."""
        self._send(f"{self._element(identifier)}/click", {})

    def press(self, identifier: str, keys: str) -> None:
        """Keys pressed while an element has the focus."""
        self._send(f"{self._element(identifier)}/value", {"text": keys})

    def drag(self, identifier: str, share: float) -> None:
        """Press the mouse in the middle of an element and release it at a share of its width."""
        width, height = self.run(
            f"const box = document.getElementById('{identifier}').getBoundingClientRect();"
            "return [box.width, box.height]"
        )
        element = self._element(identifier).rpartition("/")[2]
        here = {"element-6066-11e4-a52e-4f735466cecf": element}
        moves = [
            {"type": "pointerMove", "origin": here, "x": 0, "y": 0, "duration": 0},
            {"type": "pointerDown", "button": 0},
            {
                "type": "pointerMove",
                "origin": here,
                "x": round((share - 0.5) * (width - height)),
                "y": 0,
                "duration": 50,
            },
            {"type": "pointerUp", "button": 0},
        ]
        mouse = {"type": "pointer", "id": "mouse", "actions": moves}
        self._send(f"/{self._session}/actions", {"actions": [mouse]})

    def wait_for(self, script: str) -> None:
        for _ in range(100):
            if self.run(f"return {script}"):
                return
            time.sleep(0.1)
        raise AssertionError(f"never true: {script}")

    def errors(self) -> list[str]:
        entries = self._send(f"/{self._session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def close(self) -> None:
        self._send(f"/{self._session}", {}, "DELETE")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser for a while."""
    assert DRIVER is not None
    driver = subprocess.Popen(
        [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert driver.stdout is not None
        port = next(
            line.rstrip(".\n").split()[-1]
            for line in driver.stdout
            if "successfully on port" in line
        )
        browser = Browser(f"http://127.0.0.1:{port}")
        try:
            yield browser
        finally:
            browser.close()
    finally:
        driver.terminate()
        driver.communicate()
