// Rows that ranks pool by their columns, merged and put through the head, compared with the oracle.

#include "shard/readout/pooled_readout.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/kernels/cpu_features.h"
#include "tests/reference/reference_head.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::shard {
namespace pooled_readout_test {

using proto::ForwardPlan;
using proto::HeadActivation;
using proto::HeadStep;
using proto::PlanRead;
using proto::Pooling;
using proto::Range;
using proto::ReadHead;
using proto::RowLogits;

constexpr std::int64_t kHidden = 40;
constexpr std::int64_t kRows = 30;

const Kernels& TestKernels() { return KernelsFor(DetectCpuFeatures()); }

/// Random tensors in a file, and their values.
struct Tensors {
  void Add(const std::string& name, std::vector<std::int64_t> shape) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
      count *= size;
    }
    std::vector<float> floats;
    for (std::int64_t i = 0; i < count; ++i) {
      floats.push_back(std::normal_distribution<float>(0, 0.3F)(random));
    }
    header[name] = {{"dtype", "F32"},
                    {"shape", shape},
                    {"data_offsets", {data.size() * 4, (data.size() + floats.size()) * 4}}};
    data.insert(data.end(), floats.begin(), floats.end());
    values[name] = {floats.begin(), floats.end()};
  }
  void Write(const std::filesystem::path& file) const {
    const std::string text = header.dump();
    const std::uint64_t size = text.size();
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&size), sizeof(size));
    out << text;
    out.write(reinterpret_cast<const char*>(data.data()),
              static_cast<std::streamsize>(data.size() * sizeof(float)));
  }

  std::mt19937 random{7};
  nlohmann::json header;
  std::vector<float> data;
  std::map<std::string, std::vector<double>> values;
};

/// All ranks of a head in one process.
class Bench {
 public:
  Bench(ReadHead made, std::vector<Range> columns) : head(std::move(made)) {
    std::int64_t in = static_cast<std::int64_t>(head.pooling.size()) * kHidden;
    for (const HeadStep& step : head.steps) {
      if (!step.weight.empty()) {
        tensors.Add(step.weight, {step.out_features, in});
      }
      for (const std::string& name : {step.bias, step.norm, step.norm_bias}) {
        if (!name.empty()) {
          tensors.Add(name, {step.out_features});
        }
      }
      in = step.out_features;
    }
    if (head.steps.empty()) {
      tensors.Add("unused", {1});
    }
    head.output_size = head.output_size == 0 ? in : head.output_size;
    tensors.Write(dir.path() / "model.safetensors");
    const Checkpoint checkpoint = Checkpoint::Open(dir.path());
    for (std::size_t rank = 0; rank < columns.size(); ++rank) {
      auto steps = rank > 0 ? nullptr
                            : std::make_unique<HeadSteps>(
                                  head, static_cast<std::int64_t>(head.pooling.size()) * kHidden,
                                  checkpoint, TestKernels(), pool);
      ranks.push_back(std::make_unique<PooledReadout>(head, columns, static_cast<int>(rank),
                                                      TestKernels(), pool, std::move(steps)));
    }
    for (std::int64_t i = 0; i < kRows * kHidden; ++i) {
      rows.push_back(std::normal_distribution<float>(0, 1)(tensors.random));
    }
  }

  std::vector<RowLogits> Compute(const ForwardPlan& plan, bool has_classes = false) {
    std::vector<std::int32_t> row_of;
    for (const PlanRead& read : plan.reads) {
      row_of.push_back(read.row);
    }
    std::vector<std::byte> gathered;
    const std::vector<std::size_t> bytes = ranks.front()->PartBytes(plan);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const std::vector<std::byte> part =
          ranks[rank]->ReadOut(plan, row_of, {rows.data(), kHidden});
      EXPECT_EQ(part.size(), bytes[rank]);
      gathered.insert(gathered.end(), part.begin(), part.end());
    }
    return ranks.front()->Merge(plan, gathered, has_classes);
  }

  std::vector<double> Expected(std::int64_t first, std::int64_t last) const {
    std::vector<std::vector<double>> text;
    for (std::int64_t row = first; row <= last; ++row) {
      text.emplace_back(rows.begin() + row * kHidden, rows.begin() + (row + 1) * kHidden);
    }
    return reference::ApplyReadHead(
        head, text,
        [&](const HeadStep& /*step*/, const std::string& name) { return tensors.values.at(name); });
  }

  ReadHead head;
  reference::TempDirectory dir;
  Tensors tensors;
  ThreadPool pool{2};
  std::vector<std::unique_ptr<PooledReadout>> ranks;
  std::vector<float> rows;  // [kRows][kHidden]
};

void ExpectNear(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-5 * std::max(1.0, std::abs(expected[i]))) << i;
  }
}

const std::vector<Pooling> kAll = {Pooling::kCls, Pooling::kMax, Pooling::kMean, Pooling::kLast};

TEST(PooledReadout, AgreesWithTheOracle) {
  const std::vector<std::vector<Range>> divisions = {
      {{0, 40}}, {{0, 16}, {16, 40}}, {{0, 16}, {16, 32}, {32, 40}, {40, 40}}};
  const std::vector<std::vector<Pooling>> poolings = {
      {Pooling::kCls},
      {Pooling::kMax},
      {Pooling::kMean},
      {Pooling::kLast},
      kAll,
      {Pooling::kMean, Pooling::kCls, Pooling::kMean},
      {Pooling::kLast, Pooling::kMax, Pooling::kMax}};
  for (const std::vector<Range>& columns : divisions) {
    for (const std::vector<Pooling>& pooling : poolings) {
      Bench bench({.pooling = pooling}, columns);
      const ForwardPlan plan{.reads = {{.row = 9, .first_row = 0},
                                       {.row = 10, .first_row = 10},
                                       {.row = 29, .first_row = 12}}};
      const std::vector<RowLogits> results = bench.Compute(plan);
      for (std::size_t i = 0; i < results.size(); ++i) {
        ExpectNear(results[i].embedding,
                   bench.Expected(plan.reads[i].first_row, plan.reads[i].row));
      }
    }
  }
}

TEST(PooledReadout, ComputesTheStepsOfTheHead) {
  for (const HeadActivation activation :
       {HeadActivation::kIdentity, HeadActivation::kTanh, HeadActivation::kRelu,
        HeadActivation::kGelu, HeadActivation::kGeluTanh, HeadActivation::kSilu,
        HeadActivation::kSigmoid}) {
    for (const bool normalize : {false, true}) {
      const HeadStep first{
          .weight = "a.weight",
          .bias = "a.bias",
          .norm = normalize ? "norm.weight" : "",
          .norm_bias = normalize && activation == HeadActivation::kGelu ? "norm.bias" : "",
          .activation = activation,
          .out_features = 70,
          .norm_eps = 1e-5};
      const HeadStep second{.weight = "b.weight", .out_features = 3};
      Bench bench({.pooling = kAll,
                   .steps = {first, second},
                   .normalize = normalize,
                   .temperature = 0.4,
                   .output_size = normalize ? 2 : 3},
                  {{0, 32}, {32, 40}});
      const ForwardPlan plan{.reads = {{.row = 20, .first_row = 3}, {.row = 25, .first_row = 24}}};
      const std::vector<RowLogits> results = bench.Compute(plan, /*has_classes=*/!normalize);
      for (std::size_t i = 0; i < results.size(); ++i) {
        ExpectNear(normalize ? results[i].embedding : results[i].label_logits,
                   bench.Expected(plan.reads[i].first_row, plan.reads[i].row));
        EXPECT_TRUE((normalize ? results[i].label_logits : results[i].embedding).empty());
      }
    }
  }
}

// Dense, LayerNorm, Dense; and a LayerNorm of the pooled row.
TEST(PooledReadout, ComputesStepsThatAreALayerNormAlone) {
  const HeadStep dense{
      .weight = "a.weight", .activation = HeadActivation::kGelu, .out_features = 70};
  const HeadStep norm{.norm = "norm.weight", .norm_bias = "norm.bias", .out_features = 70};
  const HeadStep scores{.weight = "b.weight", .bias = "b.bias", .out_features = 1};
  const HeadStep norm_of_row{.norm = "norm.weight", .norm_bias = "norm.bias", .out_features = 80};
  const ReadHead of_reranker = {.pooling = {Pooling::kCls}, .steps = {dense, norm, scores}};
  const ReadHead of_embedder = {.pooling = {Pooling::kMean, Pooling::kCls},
                                .steps = {norm_of_row},
                                .normalize = true,
                                .output_size = 50};
  for (const ReadHead& head : {of_reranker, of_embedder}) {
    Bench bench(head, {{0, 32}, {32, 40}});
    const ForwardPlan plan{.reads = {{.row = 20, .first_row = 3}, {.row = 25, .first_row = 24}}};
    const std::vector<RowLogits> results = bench.Compute(plan);
    for (std::size_t i = 0; i < results.size(); ++i) {
      ExpectNear(results[i].embedding, bench.Expected(plan.reads[i].first_row, plan.reads[i].row));
    }
  }
}

TEST(PooledReadout, GoesOnWithTheBitsOfOnePass) {
  Bench bench({.pooling = kAll, .normalize = true}, {{0, 16}, {16, 40}});
  const std::vector<float> whole =
      bench.Compute({.reads = {{.row = 29, .first_row = 2}}})[0].embedding;
  for (const std::int32_t cut : {2, 3, 15, 28}) {
    const std::vector<float> so_far =
        bench.Compute({.reads = {{.row = cut, .first_row = 2, .goes_on = true}}})[0].embedding;
    ASSERT_EQ(so_far.size(), 4 * kHidden);
    const std::vector<float> rest = bench
                                        .Compute({.reads = {{.row = 29,
                                                             .first_row = cut + 1,
                                                             .rows_before = cut - 1,
                                                             .pooled = so_far}}})[0]
                                        .embedding;
    ASSERT_EQ(rest.size(), whole.size());
    EXPECT_EQ(std::memcmp(rest.data(), whole.data(), whole.size() * sizeof(float)), 0) << cut;
  }
}

TEST(PooledReadout, GivesRawRowsAsTheyAre) {
  const HeadStep step{.weight = "a.weight", .out_features = 5};
  Bench bench({.pooling = kAll, .steps = {step}, .normalize = true}, {{0, 16}, {16, 40}});
  const std::vector<RowLogits> results =
      bench.Compute({.reads = {{.row = 3, .first_row = 3, .raw = true},
                               {.row = 8, .first_row = 4},
                               {.row = 8, .first_row = 8, .raw = true}}});
  for (const auto& [index, row] : {std::pair{0, 3}, {2, 8}}) {
    EXPECT_EQ(results[static_cast<std::size_t>(index)].embedding,
              std::vector<float>(bench.rows.begin() + row * kHidden,
                                 bench.rows.begin() + (row + 1) * kHidden));
  }
  ExpectNear(results[1].embedding, bench.Expected(4, 8));
}

TEST(PooledReadout, LetsNanThrough) {
  for (const std::int64_t row : {2, 5, 7}) {
    for (const Pooling pooling : {Pooling::kMax, Pooling::kMean}) {
      Bench bench({.pooling = {pooling}}, {{0, 40}});
      bench.rows[static_cast<std::size_t>(row * kHidden + 1)] =
          std::numeric_limits<float>::quiet_NaN();
      const std::vector<float> result =
          bench.Compute({.reads = {{.row = 7, .first_row = 2}}})[0].embedding;
      EXPECT_FALSE(std::isnan(result[0]));
      EXPECT_TRUE(std::isnan(result[1]));
    }
  }
}

TEST(HeadSteps, RefusesTensorsOfOtherShapes) {
  reference::TempDirectory dir;
  Tensors tensors;
  tensors.Add("a.weight", {5, kHidden});
  tensors.Write(dir.path() / "model.safetensors");
  const Checkpoint checkpoint = Checkpoint::Open(dir.path());
  ThreadPool pool(1);
  const auto make = [&](const HeadStep& step) {
    HeadSteps({.pooling = {Pooling::kCls}, .steps = {step}, .output_size = 5}, kHidden, checkpoint,
              TestKernels(), pool);
  };
  EXPECT_NO_THROW(make({.weight = "a.weight", .out_features = 5}));
  EXPECT_THROW(make({.weight = "a.weight", .out_features = 6}), proto::StartupError);
  EXPECT_THROW(make({.weight = "a.weight", .bias = "a.bias", .out_features = 5}),
               proto::StartupError);
  EXPECT_THROW(make({.norm = "a.weight", .out_features = kHidden}), proto::StartupError);
}

}  // namespace pooled_readout_test
}  // namespace scorecast::shard
