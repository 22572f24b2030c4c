"""What bench/run encoders computes without an engine: models, texts, ratios, and which engines are run."""
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench.encoders import model, peers
from bench.encoders.agreement import Agreement, compare
from bench.encoders.clients import ClientsFigures, markdown
from bench.encoders.products import PassFigures
from bench.encoders.report import EngineFigures, Run
from bench.encoders.shapes import SHAPES, Shape, Tensor
from bench.encoders.workload import WORKLOADS, batches, ranking_of, texts_of


class Texts(unittest.TestCase):
    def test_have_the_lengths_of_their_workload(self):
        for name, count, least, most in (("pairs", 50, 40, 260), ("texts", 256, 20, 120)):
            lengths = [len(text.ids) for text in texts_of(WORKLOADS[name], SHAPES["minilm-l6"])]
            self.assertEqual(lengths, WORKLOADS[name].lengths())
            self.assertEqual(len(lengths), count)
            self.assertTrue(least <= min(lengths) < least + 4 and most - 4 < max(lengths) <= most)
            self.assertEqual(round(sum(lengths) / count), (least + most) / 2)

    def test_have_their_familys_special_tokens(self):
        for shape, between in (("minilm-l6", [3]), ("bge-m3", [2, 2])):
            pairs = texts_of(WORKLOADS["pairs"], SHAPES[shape])
            special = SHAPES[shape].special
            for pair in pairs:
                self.assertEqual(pair.first, pairs[0].first)
                self.assertEqual(pair.first[0], special.begin)
                self.assertEqual(pair.first[-len(between):], between)
                self.assertEqual(pair.second[-1], special.end)
                self.assertGreater(min(pair.second[:-1]), max(special.begin, special.end, special.pad))

    def test_are_batched_by_length_without_a_loss(self):
        texts = texts_of(WORKLOADS["texts"], SHAPES["bge-base"])
        places = batches(texts, 48)
        self.assertEqual([len(batch) for batch in places], [48] * 5 + [16])
        self.assertEqual(sorted(sum(places, [])), list(range(256)))
        lengths = [len(texts[i].ids) for batch in places for i in batch]
        self.assertEqual(lengths, sorted(lengths, reverse=True))


class Models(unittest.TestCase):
    def test_have_the_weights_of_their_shape(self):
        # Those of the layers' products, as the models' authors count them.
        for name, millions in (("minilm-l6", 10.6), ("bge-base", 84.9), ("bge-m3", 302.0), ("modernbert-base", 110.3)):
            shape = SHAPES[name]
            in_layers = sum(t.size for t in shape.tensors(embeds=True) if "layer" in t.name.lower() and len(t.shape) == 2)
            self.assertEqual(in_layers, shape.parameters_of_products)
            self.assertAlmostEqual(in_layers / 1e6, millions, delta=0.1)

    def test_are_a_classifier_and_an_embedder_with_its_weights(self):
        small = Shape("small", "bert", 8, 2, 2, 16, 32)
        with tempfile.TemporaryDirectory() as models, mock.patch.object(model, "_DRAWN", 997):
            directories = model.write_models(small, Path(models))
            weights = {embeds: read_tensors(directory / "model.safetensors") for embeds, directory in directories.items()}
            self.assertEqual({f"bert.{name}": values for name, values in weights[True].items()} |
                             {name: values for name, values in weights[False].items() if name.startswith("classifier")}, weights[False])
            self.assertEqual(json.loads((directories[True] / "config.json").read_text())["architectures"], ["BertModel"])
            self.assertEqual(weights[True]["embeddings.LayerNorm.weight"], b"\0\0\x80\x3f" * 8)
            written = (directories[False] / "model.safetensors").stat()
            self.assertEqual(model.write_models(small, Path(models)), directories)
            self.assertEqual((directories[False] / "model.safetensors").stat(), written)

    def test_norms_begin_with_one(self):
        self.assertTrue(Tensor("layers.0.attn_norm.weight", (4,)).is_norm)
        self.assertFalse(Tensor("embeddings.LayerNorm.bias", (4,)).is_norm)
        self.assertFalse(Tensor("head.dense.weight", (4, 4)).is_norm)


def read_tensors(file):
    data = file.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    assert max(tensor["data_offsets"][1] for tensor in header.values()) == len(data) - begin
    return {name: data[begin + tensor["data_offsets"][0]:begin + tensor["data_offsets"][1]] for name, tensor in header.items()}


class Engines(unittest.TestCase):
    def fault(self, tool, dtype, kernel="auto", flags=("avx512_bf16",), missing=()):
        with mock.patch.object(peers, "find_spec", lambda package: package not in missing):
            return peers.fault_of(tool, dtype, kernel, set(flags))

    def test_are_run_where_they_are_fast(self):
        self.assertIsNone(self.fault("torch", "bf16"))
        self.assertIsNone(self.fault("openvino", "f32", "avx2"))
        self.assertIn("no fast products of bf16", self.fault("openvino", "bf16", flags=("avx2",)))
        self.assertIn("no fast products of bf16", self.fault("torch", "bf16", "avx2"))
        self.assertIn("computes no bf16", self.fault("onnxruntime", "bf16"))

    def test_that_are_not_installed_are_named(self):
        self.assertEqual(self.fault("torch", "f32", missing=("torch",)), "torch not installed: see bench/encoders/requirements.txt")


class Ratios(unittest.TestCase):
    def run_of(self, *engines):
        """(tool, dtype, seconds, values)"""
        run = Run("auto", 2, 2, 200)
        run.figures = [EngineFigures("minilm-l6", "pairs", tool, dtype, "1", seconds, [s / 2 for s in seconds], values)
                       for tool, dtype, seconds, values in engines]
        return run

    def test_are_not_those_of_scorecast_with_another_bound(self):
        run = self.run_of(("scorecast", "f32", [2.0, 2.0], [0.5]), ("scorecast, passes of 200 ms", "f32", [1.0, 1.0], [0.5]),
                          ("torch", "f32", [3.0, 3.0], [0.5]))
        self.assertEqual(run.ratios(run.figures[1]), [0.5, 0.5])
        self.assertEqual(run.fastest_ratios(run.figures[0]), ("torch:f32", [1.5, 1.5]))

    def test_are_those_within_a_round_and_a_dtype(self):
        run = self.run_of(("scorecast", "f32", [1.0, 2.0], [0.5]), ("torch", "f32", [2.0, 2.0], [0.5]),
                          ("openvino", "f32", [1.5, 2.5], [0.25]), ("torch", "int8", [9.0, 9.0], [0.0]))
        ours, torch, openvino, alone = run.figures
        self.assertEqual(run.ratios(torch), [2.0, 1.0])
        self.assertEqual(run.cpu_ratios(torch), [2.0, 1.0])
        self.assertEqual((run.ratios(ours), run.ratios(alone)), ([], []))
        self.assertEqual(run.fastest_ratios(ours), ("torch:f32", [2.0, 1.0]))  # Of equal medians the first one.
        self.assertEqual([run.difference(f) for f in run.figures], [0.0, None, 0.25, 0.5])
        text = run.markdown()
        self.assertIn("| minilm-l6 | 50 pairs of 40 to 260 tokens | f32 | torch:f32 / scorecast | >= 1.2 | 1.50 (1.00-2.00) | met |", text)

    def test_are_none_without_another_engine(self):
        run = self.run_of(("scorecast", "int8", [1.0, 1.0], [0.5]))
        self.assertIsNone(run.fastest_ratios(run.figures[0]))
        self.assertIsNone(run.difference(run.figures[0]))
        self.assertIn("| int8 | scorecast | 1000.0 (1000.0-1000.0) |", run.markdown())

    def test_of_passes_are_those_to_the_fastest_library(self):
        run = self.run_of(("scorecast", "f32", [1.0, 1.0], [0.5]))
        run.passes = [PassFigures("minilm-l6", "pair", "f32", [3.0, 2.0], {"onednn": [2.0, 2.0], "openblas": [1.0, 2.0]}),
                      PassFigures("minilm-l6", "pair", "bf16", [3.0, 2.0])]
        text = run.markdown()
        self.assertIn("| f32 | 2500.0 (2000.0-3000.0) | 1500.0 (1000.0-2000.0) | openblas | 2.00 (1.00-3.00) |", text)
        self.assertIn("| bf16 | 2500.0 (2000.0-3000.0) | not run |  |  |", text)
        self.assertNotIn("## Targets", text)


class Agreements(unittest.TestCase):
    def test_compare_a_precision_with_float32(self):
        rows = compare([
            Agreement("a", "f32", rankings=[[1.0, 2.0, 3.0], [0.0, 5.0, 1.0]]),
            Agreement("a", "int8", rankings=[[1.0, 3.0, 2.0], [0.1, 4.0, 1.0]]),
            Agreement("a", "f32", vectors=[[3.0, 4.0], [1.0, 0.0]]),
            Agreement("a", "int8", vectors=[[6.0, 8.0], [0.8, 0.6]]),
        ])
        # The first ranking has three pairs of documents, and one pair has another order.
        self.assertEqual(rows, [{"shape": "a", "dtype": "int8", "Kendall's tau: mean": "0.667", "tau: least": "0.333",
                                 "same document first": "1 of 2", "cosine: mean": "0.900000", "cosine: least": "0.800000"}])

    def test_rankings_have_a_query_and_documents_of_their_own(self):
        first, second = (ranking_of(number, 8, SHAPES["minilm-l6"]) for number in (0, 1))
        self.assertEqual([len({str(text.first) for text in ranking}) for ranking in (first, second)], [1, 1])
        self.assertEqual(len({str(text.ids) for text in first + second}), 16)
        self.assertEqual(first, ranking_of(0, 8, SHAPES["minilm-l6"]))


class OfClients(unittest.TestCase):
    def test_the_products_share_of_all_time_is_that_of_the_passes_times_theirs(self):
        figures = ClientsFigures(16, "f32", requests_per_second=[50.0, 60.0], milliseconds=[[1.0, 3.0], [2.0]],
                                 rows_per_pass=[300.0, 300.0], in_passes=[0.5, 0.8], products=[0.8, 0.9], cpu_ms=[30.0, 40.0])
        row = markdown([figures]).splitlines()[-1]
        self.assertEqual([cell.strip() for cell in row.strip("|").split("|")],
                         ["f32", "16", "55.0 (50.0-60.0)", "1.5 (1.0-2.0)", "2.5 (2.0-3.0)", "300 (300-300)", "65 (50-80)",
                          "85 (80-90)", "56 (40-72)", "35.00 (30.00-40.00)", "0"])


if __name__ == "__main__":
    unittest.main()
