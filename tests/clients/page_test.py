"""The page at GET /, in a headless Chromium: its plots of a loaded service of two ranks, its forms, and how it asks for
a key. With SCORECAST_SCREENSHOTS=DIR, pictures of it stay in DIR."""
from __future__ import annotations

import json
import os
import tempfile
import threading
import unittest
from pathlib import Path

from tests.clients.browser import Browser, find_program
from tests.clients.classifier_model import write_classifier
from tests.clients.service import DOCUMENTS, QUERY, RIGHT, Service

KEY = "sk-test-0123456789abcdef"
WIDTHS = {"wide": 1100, "phone": 390}
TAB, ENTER = 9, 13

browser: Browser


def setUpModule() -> None:
    global browser
    program = find_program()
    if program is None:
        raise unittest.SkipTest("SKIP: no Chromium is installed: apt-get install chromium-headless-shell")
    browser = unittest.enterModuleContext(Browser(program))


def element(name: str) -> str:
    return f"document.getElementById({json.dumps(name)})"


def is_shown(name: str) -> bool:
    return browser.run(f"{element(name)}.getClientRects().length > 0")


def text_of(name: str) -> str:
    return browser.run(f"{element(name)}.innerText")


def fill(name: str, text: str) -> None:
    """Types a text in the place of what a field has."""
    browser.run(f"{element(name)}.focus(); {element(name)}.select()")
    browser.type(text)


def open_page(service: Service) -> None:
    browser.show(WIDTHS["wide"], 800, "light")
    browser.open(service.url + "/")


def wait_for_forms() -> None:
    browser.wait_for(f"!{element('compare-section')}.hidden")


class Load:
    """A client that reranks all the time, until the `with` statement ends."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        number = 0
        while not self._ends.is_set():
            number += 1
            self._service.post("/v1/rerank", {"query": f"{QUERY} {number}", "documents": DOCUMENTS * 3})

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()


class Page(unittest.TestCase):
    service: Service

    @classmethod
    def setUpClass(cls) -> None:
        cls.service = cls.enterClassContext(Service(ranks=2))
        cls.enterClassContext(Load(cls.service))

    def setUp(self) -> None:
        open_page(self.service)
        wait_for_forms()

    def tearDown(self) -> None:
        self.assertEqual(browser.faults, [])

    def results(self) -> list[dict[str, str]]:
        """The texts of the results, and the lengths and values of their bars."""
        return browser.run("""[...document.querySelectorAll('#compared li')].map((item) => ({
            text: item.querySelector('p').innerText,
            bars: [...item.querySelectorAll('.bar i')]
                .map((one) => one.getBoundingClientRect().width / one.parentNode.clientWidth),
            values: [...item.querySelectorAll('.score span:last-child')].map((one) => one.innerText)}))""")

    def test_shows_ranks_and_load(self) -> None:
        ranks = [(rank["rank"], rank["host"]) for rank in self.service.get("/ready")["ranks"]]
        self.assertEqual(len(ranks), 2)
        browser.wait_for("document.querySelectorAll('#ranks li').length == 2")
        for number, host in ranks:
            self.assertIn(f"Rank {number} on {host}", text_of("ranks"))
        self.assertEqual(text_of("state"), "ready")
        # Rates need two samples.
        for plot in ("requests", "tokens", "latency"):
            browser.wait_for(f"parseFloat(document.querySelector('#plot-{plot} .value').innerText) > 0")
            self.assertIn("M", browser.run(f"document.querySelector('#plot-{plot} path:last-child').getAttribute('d')"))
        browser.wait_for(f"/% computing/.test({element('ranks')}.innerText)")
        for plot in ("waiting", "running", "cache"):
            self.assertNotEqual(browser.run(f"document.querySelector('#plot-{plot} .value').innerText"), "–", plot)

    def test_reranks(self) -> None:
        fill("texts", "\n".join(DOCUMENTS))
        fill("query", QUERY)
        browser.press("Enter", ENTER, "\r")
        browser.wait_for(f"document.querySelectorAll('#compared li').length == {len(DOCUMENTS)}")
        expected = self.service.post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})["results"]
        shown = self.results()
        self.assertEqual([one["text"] for one in shown], [DOCUMENTS[result["index"]] for result in expected])
        self.assertEqual(shown[0]["text"], DOCUMENTS[RIGHT])
        for one, result in zip(shown, expected, strict=True):
            self.assertEqual(one["values"], [f"{result['relevance_score']:.4f}"])
            self.assertAlmostEqual(one["bars"][0], result["relevance_score"], delta=0.01)

    def test_scores(self) -> None:
        self.assertFalse(is_shown("labels"))
        browser.run("document.querySelector('[name=mode][value=score]').click()")
        self.assertTrue(is_shown("labels"))
        items = ["Paris", "Rome"]
        fill("query", "The capital of France is")
        fill("texts", "\n".join(items))
        browser.run(f"{element('compare')}.requestSubmit()")
        browser.wait_for("document.querySelectorAll('#compared li').length == 2")
        expected = self.service.post("/v1/score", {
            "query": "The capital of France is", "items": [f" {item}" for item in items], "labels": [" yes", " no"],
            "apply_softmax": True})["scores"]
        for one, item, scores in zip(self.results(), items, expected, strict=True):
            self.assertEqual(one["text"], item)
            self.assertEqual(one["values"], [f"{score:.4f}" for score in scores])

    def test_says_why_it_was_refused(self) -> None:
        browser.run("document.querySelector('[name=mode][value=score]').click()")
        fill("labels", "no single token")
        browser.run(f"{element('compare')}.requestSubmit()")
        browser.wait_for(f"{element('compare-fault')}.innerText.includes('no single token')")
        browser.faults.clear()  # Browsers log replies of 4xx.

    def test_streams_answers_and_shows_what_was_cached(self) -> None:
        # Other documents than those of the page, which another test may have asked about.
        fill("documents", "The black lamp is in the museum.\nThe brown bag is in the garden.\nThe white map costs 9 coins.")
        fill("question", "Where is the black lamp?")
        # Whether the answer has a text before the last event has come.
        browser.run(f"""globalThis.streamed = false;
            new MutationObserver(() => {{
              streamed = streamed || ({element('answer')}.innerText !== '' && {element('answer-use')}.children.length === 0);
            }}).observe({element('answer')}, {{childList: true}})""")
        self.assertFalse(is_shown("answered"))
        browser.press("Enter", ENTER, "\r")
        browser.wait_for("document.querySelector('#answer-use .use')")
        self.assertEqual(text_of("answer"), "museum.")
        self.assertTrue(browser.run("streamed"))
        cached = int(browser.run("document.querySelector('#answer-use .use').dataset.cached"))
        # The same documents in another order.
        browser.run(f"{element('reorder')}.click(); {element('ask')}.requestSubmit()")
        self.assertTrue(browser.run(f"{element('documents')}.value").startswith("The white map"))
        browser.wait_for("document.querySelector('#answer-use .use')")
        self.assertEqual(text_of("answer"), "museum.")
        again = int(browser.run("document.querySelector('#answer-use .use').dataset.cached"))
        self.assertGreater(again, cached)
        self.assertIn(f"{again} of ", text_of("answer-use"))

    def test_is_readable_in_both_colours_and_widths(self) -> None:
        browser.run(f"{element('compare')}.requestSubmit(); {element('ask')}.requestSubmit()")
        browser.wait_for("document.querySelector('#compared .use') && document.querySelector('#answer-use .use')")
        browser.wait_for("parseFloat(document.querySelector('#plot-requests .value').innerText) > 0")
        backs = set()
        for scheme in ("light", "dark"):
            for name, width in WIDTHS.items():
                with self.subTest(scheme=scheme, width=name):
                    browser.show(width, 800, scheme)
                    self.assertLessEqual(browser.run("document.documentElement.scrollWidth"), width)
                    self.assertEqual(browser.run(_POOR_CONTRASTS), [])
                    backs.add(browser.run("getComputedStyle(document.body).backgroundColor"))
                    if directory := os.environ.get("SCORECAST_SCREENSHOTS"):
                        browser.screenshot(Path(directory) / f"page-{scheme}-{name}.png")
        self.assertEqual(len(backs), 2)

    def test_needs_no_mouse(self) -> None:
        self.assertEqual(browser.run(_WITHOUT_NAME), [])
        browser.run("document.body.tabIndex = -1; document.body.focus()")
        reached = []
        outlined = []
        for _ in range(browser.run("document.querySelectorAll('a, button, input, textarea').length")):
            browser.press("Tab", TAB)
            reached.append(browser.run("document.activeElement.id || document.activeElement.innerText"))
            outlined.append(browser.run("parseFloat(getComputedStyle(document.activeElement).outlineWidth) > 0"))
        for name in ("query", "texts", "Compare", "instruction", "documents", "question", "Ask", "reorder", "longest",
                     "/metrics"):
            self.assertIn(name, reached)
        self.assertEqual(outlined[:10], [True] * 10)


class OtherServices(unittest.TestCase):
    def test_asks_for_a_key(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            keys = Path(directory) / "keys"
            keys.touch(0o600)
            keys.write_text(f"tester {KEY}\n")
            with Service("--api-keys", str(keys)) as service:
                open_page(service)
                browser.wait_for(f"!{element('key-section')}.hidden")
                browser.wait_for("document.querySelectorAll('#ranks li').length == 1")  # /ready needs no key.
                self.assertFalse(is_shown("compare-section"))
                browser.type("wrong")  # The field has the focus.
                browser.press("Enter", ENTER, "\r")
                browser.wait_for(f"{element('key-fault')}.innerText !== ''")
                fill("key", KEY)
                browser.press("Enter", ENTER, "\r")
                wait_for_forms()
                self.assertFalse(is_shown("key-section"))
                browser.wait_for("document.querySelector('#plot-requests .detail').innerText !== ''")
                browser.reload_by("location.reload()")
                wait_for_forms()
                browser.reload_by(f"{element('forget')}.click()")
                browser.wait_for(f"!{element('key-section')}.hidden")
                self.assertFalse(is_shown("forget"))

    def test_offers_what_the_model_can_do(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            write_classifier(Path(directory), yes=1, no=2)
            with Service(model=Path(directory)) as service:
                open_page(service)
                wait_for_forms()
                self.assertFalse(is_shown("modes"))
                self.assertFalse(is_shown("ask-section"))
                browser.run(f"{element('compare')}.requestSubmit()")
                browser.wait_for("document.querySelectorAll('#compared li').length > 1")
                self.assertEqual(browser.faults, [])


# Controls that have no name for those who do not see them.
_WITHOUT_NAME = """[...document.querySelectorAll('input, textarea, button, svg[role=img], div[role=img]')]
    .filter((one) => !(one.labels && one.labels.length) && !one.innerText && !one.getAttribute('aria-label'))
    .map((one) => one.outerHTML)"""

# Texts whose contrast with what is behind them is below 4.5, WCAG's limit.
_POOR_CONTRASTS = """(() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (text) => channels(text).slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const isClear = (text) => channels(text)[3] === 0;
  const back = (one) => {
    const own = getComputedStyle(one).backgroundColor;
    return isClear(own) ? back(one.parentElement) : own;
  };
  return [...document.querySelectorAll('body *')].filter((one) => {
    const hasText = one.value || [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    if (!hasText || one.closest('svg, script, style, noscript') || one.getClientRects().length === 0) {
      return false;
    }
    const [one_light, other_light] = [light(getComputedStyle(one).color), light(back(one))];
    return (Math.max(one_light, other_light) + 0.05) / (Math.min(one_light, other_light) + 0.05) < 4.5;
  }).map((one) => one.outerHTML.slice(0, 100));
})()"""


if __name__ == "__main__":
    unittest.main()
