"""The service answers what sentence-transformers and transformers answer from the directories that they save, in float32."""
from __future__ import annotations

import contextlib
import io
import re
import shutil
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from scorecast import Client, ServiceStartError, compare, samples
from scorecast.libraries import Model, Numbers, models_of
from scorecast.service import Service, find_binary

from tests.clients.libraries.saved_directories import CHAT, FOLLOWED, REFUSED, Change, Saved, embedder, save_classifier
from tests.clients.libraries.tiny_models import byte_tokenizer, save_model

TEXTS = samples.built_in(50)
TOLERANCE = 1e-5
MOVED = 1e-3  # A key that moves answers by less is not tried.
_START_SECONDS = 60


def start(directory: Path) -> Service:
    return Service([find_binary(None), "serve", f"--model={directory}", "--dtype=f32", "--port=0", "--http-port=0"], _START_SECONDS)


def moves(model: Model, other: Model) -> bool:
    """Whether the libraries answer any question about both models in another way."""
    nobody = Client("http://127.0.0.1:1")
    for one, two in zip(model.questions(nobody, TEXTS), other.questions(nobody, TEXTS)):
        if isinstance(one, Numbers) and isinstance(two, Numbers):
            numbers, others = one.library(), two.library()
            if any(len(a) != len(b) or max(abs(x - y) for x, y in zip(a, b)) > MOVED for a, b in zip(numbers, others) if a):
                return True
    return False


class SavedTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory())) / "model"
        torch.set_num_threads(1)

    def expect_what_the_library_answers(self, saved: Saved) -> None:
        saved.save(self.directory)
        models = models_of(self.directory)
        if saved.without is not None:
            other = self.directory.with_name("other")
            shutil.copytree(self.directory, other)
            saved.without(other)
            self.assertTrue(moves(models[0], models_of(other)[0]), "the library answers the same without the key")
        try:
            service = start(self.directory)
        except ServiceStartError as refusal:
            if saved.may_be_refused is None:
                raise
            self.assertRegex(str(refusal), saved.may_be_refused)
            return
        self.addCleanup(service.stop)
        with Client(service.url) as client:
            for model in models:
                report = compare.report_of(model, client, TEXTS, TOLERANCE)
                self.assertTrue(report.is_equal or not report.was_compared, "\n".join(report.lines()))
                if model is models[0]:
                    self.assertTrue(report.was_compared)

    def expect_refusal(self, save: Change, message: str) -> None:
        save(self.directory)
        with self.assertRaises(ServiceStartError) as caught:
            start(self.directory).stop()
        reason = str(caught.exception).removeprefix("the service has ended: ")
        self.assertRegex(reason, message)
        self.assertEqual(len(reason.splitlines()), 1, reason)


class Followed(SavedTest):
    """A test for each directory that the service follows."""


class Refused(SavedTest):
    """A test for each directory that the service refuses."""


def _add_tests() -> None:
    def of_followed(saved: Saved) -> Callable[[SavedTest], None]:
        return lambda self: self.expect_what_the_library_answers(saved)

    def of_refused(save: Change, message: str) -> Callable[[SavedTest], None]:
        return lambda self: self.expect_refusal(save, message)

    for name, saved in FOLLOWED.items():
        setattr(Followed, "test_" + name, of_followed(saved))
    for name, (save, message) in REFUSED.items():
        setattr(Refused, "test_" + name, of_refused(save, message))


_add_tests()


class Conversations(SavedTest):
    """Tokens of conversations, and vectors of messages."""

    def expect_tokens(self, template: str, conversations: list[list[dict[str, Any]]]) -> None:
        tokenizer = byte_tokenizer()
        tokenizer.chat_template = template
        save_model(self.directory, "Qwen3ForCausalLM", tokenizer)
        loaded = transformers.AutoTokenizer.from_pretrained(self.directory)
        service = start(self.directory)
        self.addCleanup(service.stop)
        with Client(service.url) as client:
            for messages in conversations:
                expected = loaded.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=True)["input_ids"]
                self.assertEqual(client.tokenize(messages), list(expected), messages)

    def test_keys_of_messages_that_the_template_reads(self) -> None:
        template = ("{% for m in messages %}<|im_start|>{{ m.role }}{% if m.name %} {{ m.name }}{% endif %}\n"
                    "{% if m.reasoning_content is defined and m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
                    "{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
        question, name, thought = {"role": "user", "content": "Who makes bread?"}, {"name": "Anna"}, {"reasoning_content": "A baker does."}
        answer = {"role": "assistant", "content": "The baker."}
        self.expect_tokens(template, [[question], [question | name], [question, answer | thought, question | name], [question, answer, question]])

    def test_keys_of_messages_that_the_template_does_not_read(self) -> None:
        self.expect_tokens(CHAT, [[{"role": "user", "content": "Who makes bread?", "name": "Anna"}]])


class Command(SavedTest):
    """`python -m scorecast.compare` with a directory that a library has saved."""

    def run_command(self, *arguments: str) -> tuple[int, str]:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = compare.main([str(self.directory), *arguments])
        return code, output.getvalue()

    def test_an_embedder(self) -> None:
        embedder(self.directory)
        code, output = self.run_command()
        self.assertEqual(code, compare.EQUAL, output)
        self.assertRegex(output, r"sentence-transformers 6\.2\.0, transformers 5\.24\.0, .*, float32")
        largest = re.findall(r"largest difference (\S+)", output)
        self.assertEqual(len(largest), 4, output)
        # float32 has no more digits than these, so a difference of 0 would be no comparison.
        self.assertGreater(max(map(float, largest)), 1e-9, output)
        self.assertIn("5 of 5 queries equal", output)
        code, output = self.run_command("--tolerance", "0")
        self.assertEqual(code, compare.DIFFERENT, output)

    def test_another_prompt(self) -> None:
        embedder(self.directory)
        code, output = self.run_command("--", "--prompt", "query=title: ")
        self.assertEqual(code, compare.DIFFERENT, output)
        self.assertRegex(output, r"vectors of queries: largest difference \S+ \('.+': number \d+ is \S+ instead of")

    def test_texts_of_a_file(self) -> None:
        save_classifier(self.directory, num_labels=2)
        texts = self.directory.with_name("texts.txt")
        texts.write_text("One text.\n\nAnother text, for the classifier.\n")
        code, output = self.run_command("--texts", str(texts))
        self.assertEqual(code, compare.EQUAL, output)
        self.assertIn("probabilities: largest difference", output)


if __name__ == "__main__":
    unittest.main()
