"""A headless Chromium that tests drive over the pipes of its DevTools protocol, so that they need no other package."""
from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_START_SECONDS = 60
_WAIT_SECONDS = 60
_LOADS_ANOTHER_PAGE = "Inspected target navigated or closed"


def find_program() -> str | None:
    """The path of a Chromium, or None if there is none."""
    return next((path for name in _PROGRAMS if (path := shutil.which(name))), None)


class _Navigated(Exception):
    """The page was left while the browser ran a script in it."""


class Browser:
    """One page in a browser that ends with the `with` statement."""

    def __init__(self, program: str) -> None:
        self._directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def pass_pipes() -> None:
            # The browser reads from descriptor 3 and writes to 4. These numbers may be in use, even by the pipes.
            ours = [os.dup(to_browser), os.dup(from_browser)]
            ours = [os.dup(one) if one in (3, 4) else one for one in ours]
            for descriptor, number in zip(ours, (3, 4)):
                os.dup2(descriptor, number)

        # The browser ends with this process, even if a time limit kills that. The sandbox refuses root.
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", program, "--headless", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", f"--user-data-dir={self._directory.name}", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=pass_pipes)
        os.close(to_browser)
        os.close(from_browser)
        self._rest = b""
        self._calls = 0
        self._session: str | None = None
        # What the page logs as an error, and what it throws. Chromium logs replies of 503 to /ready, which is how a
        # service says that it is not ready just now. This is no fault of the page, which shows it.
        self.faults: list[str] = []
        target = self._call("Target.createTarget", {"url": "about:blank"}, _START_SECONDS)["targetId"]
        self._session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._directory.cleanup()

    def show(self, width: int, height: int, scheme: str) -> None:
        """Sets the size of the window, and whether the reader wants "light" or "dark" pages."""
        self._call("Emulation.setDeviceMetricsOverride",
                   {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self._call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self, url: str) -> None:
        """The faults of an earlier page are forgotten."""
        self._call("Page.navigate", {"url": "about:blank"})
        self.wait_for("location.href === 'about:blank'")
        self.faults.clear()
        self._call("Page.navigate", {"url": url})
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def reload_by(self, script: str) -> None:
        """Waits until the page has been loaded again, which the script does."""
        with suppress(_Navigated):
            self.run(f"globalThis.isOld = true; {script}")
        self.wait_for("!globalThis.isOld && document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression, which may be a promise."""
        reply = self._call("Runtime.evaluate", {"expression": script, "awaitPromise": True, "returnByValue": True})
        if "exceptionDetails" in reply:
            raise AssertionError(f"{script}: {reply['exceptionDetails']}")
        return reply["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Waits until an expression is true, or an element is there."""
        deadline = time.monotonic() + _WAIT_SECONDS
        while not self._is_true(script):
            if time.monotonic() > deadline:
                raise AssertionError(f"never true: {script}; faults: {self.faults}")
            time.sleep(0.05)

    def _is_true(self, script: str) -> bool:
        try:
            return self.run(f"!!({script})")
        except _Navigated:
            return False

    def press(self, key: str, code: int, text: str = "", modifiers: int = 0) -> None:
        """Presses and releases a key. `modifiers`: 2 is Control, 8 is Shift."""
        fields = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self._call("Input.dispatchKeyEvent", {"type": "keyDown", **fields, **({"text": text} if text else {})})
        self._call("Input.dispatchKeyEvent", {"type": "keyUp", **fields})

    def type(self, text: str) -> None:
        """Types into the element that has the focus."""
        self._call("Input.insertText", {"text": text})

    def screenshot(self, path: Path) -> None:
        """A picture of the whole page, not only of what the window shows."""
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        picture = self._call("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(picture["data"]))

    def _call(self, method: str, parameters: dict[str, Any] | None = None, seconds: float = _WAIT_SECONDS) -> dict[str, Any]:
        self._calls += 1
        number = self._calls
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters or {}}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + seconds
        while True:
            reply = self._receive(deadline)
            if reply.get("id") == number:
                if reply.get("error", {}).get("message") == _LOADS_ANOTHER_PAGE:
                    raise _Navigated()
                if "error" in reply:
                    raise AssertionError(f"{method}: {reply['error']}")
                return reply["result"]
            self._note_fault(reply)

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError("the browser does not reply")
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise AssertionError(f"the browser has ended with {self._process.wait()}")
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def _note_fault(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.faults.append(json.dumps(event["params"]["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded":
            entry = event["params"]["entry"]
            is_unready = entry["source"] == "network" and entry.get("url", "").endswith("/ready") and "503" in entry["text"]
            if entry["level"] == "error" and not is_unready:
                self.faults.append(json.dumps(entry))
