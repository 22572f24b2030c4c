"""Figures that the benches in Python compute from their samples, and what holds engines to a kernel set."""
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench import kernel_sets
from bench.cost.line_chart import Line, LineChart, svg, ticks
from bench.cost.report import Comparison, table
from bench.kernels.tables import KernelFigures, markdown
from bench.passes.curve import CurveFigures
from bench.passes.jobs import Layout
from bench.passes.pass_bench import PassFigures
from bench.peers.engines import ALL, Bench, EnvironmentIncomplete
from bench.samples import percentile
from bench.text import in_turns


class Percentiles(unittest.TestCase):
    def test_a_share_of_the_values_does_not_exceed_them(self):
        self.assertEqual(percentile(range(1, 101), 99), 99)
        self.assertEqual(percentile(range(1, 101), 100), 100)
        self.assertEqual(percentile([3.0, 1.0, 2.0], 50), 2.0)
        self.assertEqual(percentile([3.0, 1.0, 2.0], 99), 3.0)
        self.assertEqual(percentile([7.0], 1), 7.0)


class Passes(unittest.TestCase):
    def test_are_compared_with_the_fastest_instruction(self):
        figures = PassFigures("f32", "300+10x10", Layout(1, 2), operations=100.0, seconds=[2.0, 3.0],
                              instructions={"ymm": [100.0, 50.0], "zmm": [200.0, 100.0]})
        self.assertEqual(figures.over_bare(), [4.0, 3.0])

    def test_have_no_ratio_without_an_instruction(self):
        self.assertEqual(PassFigures("f32", "300+10x10", Layout(1, 2), operations=100.0, seconds=[2.0]).over_bare(), [])


class Curves(unittest.TestCase):
    def figures(self):
        """Passes of 10 ms and 1 ms a row: the largest is the best, with 1000 / 1.01 rows/s."""
        return CurveFigures("f32", Layout(1, 2), {rows: [0.01 + 0.001 * rows] * 3 for rows in (32, 128, 256, 1000)})

    def test_a_bounded_pass_is_interpolated(self):
        figures = self.figures()
        self.assertEqual(figures.bounded_rows(0.1001), 90)
        self.assertAlmostEqual(figures.bounded_share(0.1001), 900 / (1000 / 1.01))
        self.assertEqual(figures.bounded_rows(0.001), 32)
        self.assertEqual(figures.bounded_rows(5), 1000)
        self.assertEqual(figures.bounded_share(5), 1)

    def test_the_smallest_efficient_pass_has_95_percent(self):
        self.assertEqual(self.figures().efficient_rows(), 256)


class Costs(unittest.TestCase):
    def test_a_prediction_is_compared_within_its_round(self):
        good = Comparison("f32", "2 x 1 x 1", "1gbit", "300+10x10", "seconds", [1.15, 6.0, 1.8], [1.0, 3.0, 2.0])
        bad = Comparison("f32", "2 x 1 x 1", "1gbit", "300+10x10", "MB a host")
        bad.add(84.0, 100.0)
        self.assertAlmostEqual(good.ratio, 1.15)
        self.assertTrue(good.is_within)
        self.assertFalse(bad.is_within)
        text = table("0.5b", {"f32": ["1 x 1 x 2"]}, 3, [good, bad], [])
        self.assertIn("| f32 | 2 x 1 x 1 | 1gbit | 300 + 10 x 10 | seconds | 1.800 (1.150-6.000) | 2.000 (1.000-3.000) | 1.15 |", text)
        self.assertIn("| 84.0 (84.0-84.0) | 100.0 (100.0-100.0) | 0.84 ! |", text)
        self.assertIn("MB a host: 0 of 1 within 15 %", text)

    def test_ticks_enclose_all_values(self):
        self.assertEqual(ticks(0.3, 45), [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0])
        self.assertEqual(ticks(2, 5), [2.0, 5.0])

    def test_a_chart_has_each_line_within_its_borders(self):
        chart = LineChart("title", "hosts", "s", [1, 8, 64], [Line("8B", "#000", False, [(1, 2.0), (64, 20.0)])], "note")
        self.assertIn('points="70.0,346.0 530.0,46.0"', svg(chart))


class KernelSets(unittest.TestCase):
    def test_libraries_are_held_to_older_sets_only(self):
        self.assertEqual(kernel_sets.environment("auto"), {})
        self.assertEqual(kernel_sets.environment("avx512_bf16"), {})
        self.assertEqual(kernel_sets.environment("avx2")["ONEDNN_MAX_CPU_ISA"], "AVX2")
        self.assertEqual(kernel_sets.environment("avx2")["OPENBLAS_CORETYPE"], "Haswell")


class Peers(unittest.TestCase):
    def bench(self, kernel):
        return Bench(Path("scorecast"), Path("worker"), "0.5b", kernel, Path("models"), Path("work"), 2)

    def test_llama_is_never_that_of_this_cpu_if_held_to_avx2(self):
        with tempfile.TemporaryDirectory() as prefix, mock.patch("sys.prefix", prefix):
            bench = self.bench("avx2")
            (Path(prefix) / "avx2").mkdir()  # Of a build that failed.
            self.assertRaises(EnvironmentIncomplete, bench.check, ALL)
            self.assertRaises(EnvironmentIncomplete, bench.environment, "llama.cpp")
            bench.check(["scorecast:f32", "torch:f32"])
            self.bench("auto").check(ALL)
            (Path(prefix) / "avx2" / "llama_cpp").mkdir()
            bench.check(ALL)
            self.assertEqual(bench.environment("llama.cpp")["PYTHONPATH"], f"{prefix}/avx2")
            self.assertEqual(bench.environment("torch")["ATEN_CPU_CAPABILITY"], "avx2")


class Texts(unittest.TestCase):
    OUTPUT = ("| tokenizer | tokens | alone, ms | continued, ms | continued / alone |\n|---|---|---|---|---|\n"
              "| qwen | 4000 + 128 x 20 | 10.00 (9.00-12.00) | {} (11.00-14.00) | 1.20 (1.10-1.30) |\n")

    def test_of_two_builds_are_compared_within_a_turn(self):
        ours, others = ([in_turns.medians(self.OUTPUT.format(ms)) for ms in each] for each in ((12.0, 24.0), (12.0, 12.0)))
        self.assertEqual(ours[0], {"qwen, 4000 + 128 x 20": [10.0, 12.0]})
        text = in_turns.markdown(ours, others)
        self.assertIn("| qwen, 4000 + 128 x 20 | continued | 18.00 (12.00-24.00) | 12.00 (12.00-12.00) | 1.500 (1.000-2.000) |", text)


class Kernels(unittest.TestCase):
    ATTENTION = {"t": 2.0, "operations": 8e9, "elements": 0, "bytes": 0, "share_of_bare": 0.5, "operations_per_second": 1e9}

    def test_are_compared_with_another_workers_relative_to_the_bare_instruction(self):
        other = self.ATTENTION | {"t": 2.0, "operations_per_second": 2e9}
        figures = KernelFigures("f32", "attention", "engine", ours=[self.ATTENTION], other=[other])
        self.assertEqual(figures.speed_over_other(), [2.0])

    def test_stand_in_the_table_of_their_kind(self):
        product = {"t": 1.0, "operations": 1e9, "elements": 0, "bytes": 4e9}  # Of a CPU without an instruction loop.
        text = markdown([KernelFigures("f32", "attention", "engine", [self.ATTENTION]),
                         KernelFigures("f32", "product", "engine", [product])], "avx2", [])
        self.assertIn("| attention | f32 | 4.0 (4.0-4.0) | 0.50 (0.50-0.50) |", text)
        self.assertIn("| product | f32 | 1.0 (1.0-1.0) |  | 4.0 (4.0-4.0) |  |", text)


if __name__ == "__main__":
    unittest.main()
