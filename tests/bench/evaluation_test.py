"""What bench/run evaluation computes without lm-evaluation-harness: its tasks, and the ratios of its report."""
import json
import tempfile
import unittest
from pathlib import Path

from bench.evaluation.report import Row, Run
from bench.evaluation.tasks import CHOICES, GENERATING, READING, ROLLING, questions, write_tasks


class Tasks(unittest.TestCase):
    def test_ask_for_what_the_text_says(self):
        for question in questions(20):
            thing = question.question.removeprefix("Where is the ").removesuffix("?")
            self.assertEqual(len(set(question.choices)), CHOICES)
            self.assertEqual(question.text.count(f"The {thing} is in the "), 1)
            self.assertIn(f"The {thing} is in the {question.choices[question.answer]}", question.text)

    def test_are_the_same_each_time(self):
        self.assertEqual(questions(5), questions(5))
        self.assertEqual(questions(5), questions(8)[:5])

    def test_are_written_for_the_harness(self):
        with tempfile.TemporaryDirectory() as directory:
            write_tasks(Path(directory), 3)
            lines = (Path(directory) / "questions.jsonl").read_text().splitlines()
            self.assertEqual([json.loads(line)["answer"] for line in lines], [question.answer for question in questions(3)])
            for name in (READING, ROLLING, GENERATING):
                text = (Path(directory) / f"{name}.yaml").read_text()
                self.assertTrue(text.startswith(f"task: {name}\n"))
                self.assertIn(f'test: "{Path(directory).resolve()}/questions.jsonl"', text)


class Report(unittest.TestCase):
    def run_of(self, metric: float = 0.5) -> Run:
        rows = [Row("demo", READING, "our model class", 0.5, 0, [1.0, 2.0], [0.5, 0.5]),
                Row("demo", READING, "local-completions", metric, 1e-6, [4.0, 6.0], [2.0, 1.0])]
        return Run("lm-eval", 10, 2, rows=rows)

    def test_takes_ratios_within_a_round(self):
        run = self.run_of()
        self.assertEqual(run.faster(run.rows[1], cached=False), [4, 3])
        self.assertEqual(run.faster(run.rows[1], cached=True), [4, 2])
        self.assertIn("| demo: local-completions / our model class, no cache | >= 3 | 3.5 (3.0-4.0) | met |", run.markdown())

    def test_compares_metrics_to_the_last_digit(self):
        self.assertIn("| metrics of all ways | the same |  | met |", self.run_of().markdown())
        self.assertIn("| metrics of all ways | the same |  | missed |", self.run_of(0.5000001).markdown())


if __name__ == "__main__":
    unittest.main()
