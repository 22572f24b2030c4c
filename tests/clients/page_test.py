"""The page at GET /, in a headless Chromium: its plots of a loaded service of two ranks, its forms, and how it asks for
a key. With SCORECAST_SCREENSHOTS=DIR, pictures of it stay in DIR."""
from __future__ import annotations

import json
import os
import tempfile
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.browser import Browser, find_program
from tests.clients.classifier_model import write_classifier
from tests.clients.service import DOCUMENTS, QUERY, RIGHT, Service

KEY = "sk-test-0123456789abcdef"
GOLDEN = Path(__file__).parents[1] / "golden"
ENCODERS = GOLDEN / "encoders"
FAMILIES = GOLDEN / "families"
MARKUP = "<img src=x onerror=fault()><b>bold</b> &amp;"
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


def value_of(plot: str) -> str:
    return browser.run(f"document.querySelector('#plot-{plot} .value').innerText")


def compare() -> list[dict[str, Any]]:
    """Sends the form of texts. The results: texts, names of lines, and lengths and values of their bars."""
    browser.run(f"{element('compared')}.replaceChildren(); {element('compare')}.requestSubmit()")
    browser.wait_for("document.querySelector('#compared .use')")
    return results()


def results() -> list[dict[str, Any]]:
    return browser.run("""[...document.querySelectorAll('#compared li')].map((item) => ({
        text: item.querySelector('p').innerText,
        names: [...item.querySelectorAll('.named .score span:first-child')].map((one) => one.innerText),
        bars: [...item.querySelectorAll('.bar i')]
            .map((one) => one.getBoundingClientRect().width / one.parentNode.clientWidth),
        values: [...item.querySelectorAll('.score span:last-child')].map((one) => one.innerText)}))""")


def reply_instead(path: str, body: Any, status: int = 200) -> None:
    """What the page asks of a path gets this reply until the page is loaded again. `body`: a text, or JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    browser.run(f"""(() => {{
        const others = globalThis.fetch;
        globalThis.fetch = (url, options) => url !== {json.dumps(path)} ? others(url, options)
          : Promise.resolve(new Response({json.dumps(text)}, {{status: {status}}}));
    }})()""")


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

    def test_shows_ranks_and_load(self) -> None:
        ranks = [(rank["rank"], rank["host"]) for rank in self.service.ask("/ready")[1]["ranks"]]
        self.assertEqual(len(ranks), 2)
        browser.wait_for("document.querySelectorAll('#ranks li').length == 2")
        for number, host in ranks:
            self.assertIn(f"Rank {number} on {host}", text_of("ranks"))
        browser.wait_for(f"{element('state')}.innerText === 'ready' && {element('trouble')}.hidden")
        # Rates need two samples.
        for plot in ("requests", "tokens", "latency"):
            browser.wait_for(f"parseFloat(document.querySelector('#plot-{plot} .value').innerText) > 0")
            self.assertIn("M", browser.run(f"document.querySelector('#plot-{plot} path:last-child').getAttribute('d')"))
        browser.wait_for(f"/% computing/.test({element('ranks')}.innerText)")
        for plot in ("waiting", "running", "cache"):
            self.assertNotEqual(value_of(plot), "–", plot)

    def test_reranks(self) -> None:
        fill("texts", "\n".join(DOCUMENTS))
        fill("query", QUERY)
        browser.press("Enter", ENTER, "\r")
        browser.wait_for(f"document.querySelectorAll('#compared li').length == {len(DOCUMENTS)}")
        expected = self.service.post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})["results"]
        shown = results()
        self.assertEqual([one["text"] for one in shown], [DOCUMENTS[result["index"]] for result in expected])
        self.assertEqual(text_of("about"), "")
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
        shown = compare()
        expected = self.service.post("/v1/score", {
            "query": "The capital of France is", "items": [f" {item}" for item in items], "labels": [" yes", " no"],
            "apply_softmax": True})["scores"]
        for one, item, scores in zip(shown, items, expected, strict=True):
            self.assertEqual(one["text"], item)
            self.assertEqual(one["names"], ["yes", "no"])
            self.assertEqual(one["values"], [f"{score:.4f}" for score in scores])

    def test_says_why_it_was_refused(self) -> None:
        browser.run("document.querySelector('[name=mode][value=score]').click()")
        fill("labels", "no single token")
        browser.run(f"{element('compare')}.requestSubmit()")
        browser.wait_for(f"{element('compare-fault')}.innerText.includes('no single token')")
        fill("longest", "4000")  # The model has fewer positions.
        browser.run(f"{element('ask')}.requestSubmit()")
        browser.wait_for(f"{element('ask-fault')}.innerText.includes('not 4000')")
        self.assertFalse(is_shown("answered"))
        browser.faults.clear()  # Browsers log replies of 4xx.

    def test_says_what_went_wrong_on_the_way(self) -> None:
        reply_instead("v1/rerank", "<h1>Bad Gateway</h1>", 502)
        browser.run(f"{element('compare')}.requestSubmit()")
        browser.wait_for(f"{element('compare-fault')}.innerText === 'The service replied with 502.'")
        delta = {"object": "chunked.delta", "text": " The first words"}
        fault = {"object": "error", "message": "Rank 1 has ended.", "code": 503}
        for rest, message in ((f"data: {json.dumps(fault)}\n\ndata: [DONE]\n\n", "Rank 1 has ended."),
                              ("", "The service cannot be reached (the reply has no end).")):
            reply_instead("v1/chunked", f"data: {json.dumps(delta)}\n\n{rest}")
            browser.run(f"{element('ask')}.requestSubmit()")
            browser.wait_for(f"{element('ask-fault')}.innerText === {json.dumps(message)}")
            self.assertEqual(text_of("answer"), "The first words")

    def test_shows_a_service_that_is_not_ready(self) -> None:
        ranks = self.service.ask("/ready")[1]["ranks"]
        ranks[1] |= {"state": "starting"}
        reply_instead("ready", {"status": "not ready", "reason": "rank 1 is starting", "ranks": ranks}, 503)
        browser.wait_for(f"{element('trouble')}.innerText === 'The service is not ready: rank 1 is starting.'")
        self.assertEqual(text_of("state"), "not ready")
        self.assertIn("starting", text_of("ranks"))

    def test_shows_markup_as_text(self) -> None:
        browser.run("globalThis.fault = () => { throw new Error('a script of a text has run') }")
        count = "document.querySelectorAll('img, b, script').length"
        before = browser.run(count)
        fill("query", MARKUP)
        fill("texts", f"{MARKUP}\n{QUERY}")
        self.assertIn(MARKUP, [one["text"] for one in compare()])
        browser.run("document.querySelector('[name=mode][value=score]').click()")
        fill("labels", MARKUP)
        browser.run(f"{element('compare')}.requestSubmit()")
        browser.wait_for(f"{element('compare-fault')}.innerText.includes({json.dumps(MARKUP)})")
        browser.faults.clear()  # As above.
        host = self.service.ask("/ready")[1]["ranks"][0] | {"host": MARKUP}
        reply_instead("ready", {"status": "ready", "ranks": [host]})
        browser.wait_for(f"{element('ranks')}.innerText.includes({json.dumps(MARKUP)})")
        last = {"outputs": [{"text": MARKUP}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
        reply_instead("v1/chunked", f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n")
        browser.run(f"{element('ask')}.requestSubmit()")
        browser.wait_for("document.querySelector('#answer-use .use')")
        self.assertEqual(text_of("answer"), MARKUP)
        self.assertEqual(browser.run(count), before)

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
    def setUp(self) -> None:
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))

    @contextmanager
    def page_of(self, *flags: str, **options: Any) -> Iterator[Service]:
        with Service(*flags, **options) as service:
            open_page(service)
            wait_for_forms()
            yield service
            self.assertEqual(browser.faults, [])

    def expect_comparison_only(self, kind: str, about: str) -> None:
        self.assertIn(f" · {kind} · ", text_of("model"))
        self.assertIn(about, text_of("about"))
        for name in ("modes", "labels", "ask-section"):
            self.assertFalse(is_shown(name), name)

    def test_asks_for_a_key(self) -> None:
        keys = self.directory / "keys"
        keys.touch(0o600)
        keys.write_text(f"tester {KEY}\n")
        with Service("--api-keys", str(keys)) as service:
            open_page(service)
            browser.wait_for(f"!{element('key-section')}.hidden")
            browser.wait_for("document.querySelectorAll('#ranks li').length == 1")  # /ready needs no key.
            for name in ("compare-section", "ask-section", "plots", "forget"):
                self.assertFalse(is_shown(name), name)
            self.assertEqual(text_of("key-fault"), "")
            browser.type("wrong")  # The field has the focus.
            browser.press("Enter", ENTER, "\r")
            browser.wait_for(f"{element('key-fault')}.innerText !== ''")
            self.assertEqual(text_of("key-fault"), "The API key is not one of this server's.")
            self.assertFalse(is_shown("forget"))
            self.assertEqual(browser.run("sessionStorage.length"), 0)
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

    def test_offers_what_a_reranker_does(self) -> None:
        write_classifier(self.directory, yes=1, no=2)
        with self.page_of(model=self.directory):
            self.expect_comparison_only("reranker", "gives a pair of texts one score")
            self.assertGreater(len(compare()), 1)

    def test_offers_what_an_embedder_does(self) -> None:
        with self.page_of(model=ENCODERS / "qwen3-embed", reranks=False) as service:
            self.expect_comparison_only("embedding model", "by their similarity to the query")
            fill("query", QUERY)
            fill("texts", "\n".join(DOCUMENTS))
            expected = service.post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})["results"]
            shown = compare()
            self.assertEqual([one["text"] for one in shown], [DOCUMENTS[result["index"]] for result in expected])
            self.assertEqual([one["values"] for one in shown], [[f"{result['relevance_score']:.4f}"] for result in expected])

    def test_offers_what_a_classifier_does(self) -> None:
        model = ENCODERS / "bert-classifier-labels"
        names = list(json.loads((model / "config.json").read_text())["id2label"].values())
        with self.page_of(model=model, reranks=False) as service:
            self.expect_comparison_only("classifier", "the probabilities of its classes")
            fill("query", QUERY)
            fill("texts", "\n".join(DOCUMENTS))
            expected = service.post("/v1/score", {"query": QUERY, "items": [f" {text}" for text in DOCUMENTS],
                                                  "apply_softmax": True})["scores"]
            for one, text, scores in zip(compare(), DOCUMENTS, expected, strict=True):
                self.assertEqual(one["text"], text)
                self.assertEqual(one["names"], names)
                self.assertEqual(one["values"], [f"{score:.4f}" for score in scores])
            lefts = browser.run("[...document.querySelectorAll('#compared .scores .bar')].map((one) => one.offsetLeft)")
            self.assertEqual(len(set(lefts)), 1, "bars that begin at one place can be compared")

    def test_says_what_a_model_without_a_tokenizer_does_not(self) -> None:
        with Service("--served-model-name", MARKUP, model=FAMILIES / "qwen3", reranks=False) as service:
            open_page(service)
            wait_for_forms()
            self.assertEqual(text_of("about"), "This service does not rerank: the model directory has no tokenizer.")
            self.assertIn(f"{MARKUP} · language model · ", text_of("model"))
            self.assertEqual(browser.run("document.querySelectorAll('img, b').length"), 0)
            self.assertFalse(is_shown("modes"))
            self.assertTrue(is_shown("labels"))
            self.assertTrue(is_shown("ask-section"))
            browser.run(f"{element('compare')}.requestSubmit()")
            browser.wait_for(f"{element('compare-fault')}.innerText.startsWith('This model has no tokenizer')")

    def test_waits_for_a_service_that_comes_back(self) -> None:
        with self.page_of() as service:
            port = int(service.address.rpartition(":")[2])
            self.assertTrue(is_shown("ask-section"))
            browser.wait_for("document.querySelector('#plot-requests .value').innerText !== '–'")
        browser.wait_for(f"{element('state')}.innerText === 'cannot be reached'")
        self.assertIn("This page asks again", text_of("trouble"))
        browser.wait_for("document.querySelector('#plot-waiting .value').innerText === '–'")
        self.assertEqual(value_of("requests"), "–")
        browser.run(f"{element('compare')}.requestSubmit()")
        browser.wait_for(f"{element('compare-fault')}.innerText.startsWith('The service cannot be reached')")
        # Another model, so that what the page offers changes, too.
        with Service(model=ENCODERS / "qwen3-embed", reranks=False, http_port=port):
            browser.wait_for(f"{element('state')}.innerText === 'ready' && {element('trouble')}.hidden")
            browser.wait_for(f"{element('model')}.innerText.includes('embedding model')")
            self.expect_comparison_only("embedding model", "by their similarity to the query")
            self.assertGreater(len(compare()), 1)
            self.assertEqual(text_of("compare-fault"), "")
            browser.wait_for("document.querySelector('#plot-requests .value').innerText !== '–'")


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
