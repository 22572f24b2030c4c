// The oracle's parts, compared with results computed by hand, and the checkpoints that tests
// generate.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reference/checkpoint_reader.h"
#include "tests/reference/dense_mask.h"
#include "tests/reference/log_probabilities.h"
#include "tests/reference/packed_layout.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/reference_config.h"
#include "tests/reference/reference_model.h"
#include "tests/reference/rounding.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::reference {
namespace reference_test {

using proto::Segment;
using proto::SegmentKind;
using proto::TokenId;
using testing::ElementsAre;

std::vector<std::string> Drawn(const std::vector<std::vector<bool>>& sees) {
  std::vector<std::string> rows;
  for (const std::vector<bool>& row : sees) {
    rows.emplace_back();
    for (const bool visible : row) {
      rows.back() += visible ? 'x' : '.';
    }
  }
  return rows;
}

// Two prefix rows, blocks of two and one rows, two suffixes of two and one rows.
const std::vector<Segment> kEveryKind = {
    {SegmentKind::kPrefix, 2, 0}, {SegmentKind::kBlock, 2, 2},  {SegmentKind::kBlock, 1, 2},
    {SegmentKind::kSuffix, 2, 4}, {SegmentKind::kSuffix, 1, 4},
};

TEST(DenseMask, OfEveryKindOfSegment) {
  EXPECT_THAT(RowPositions(kEveryKind), ElementsAre(0, 1, 2, 3, 2, 4, 5, 4));
  EXPECT_THAT(Drawn(DenseMask(kEveryKind, std::nullopt)), ElementsAre("x.......",  //
                                                                      "xx......",  //
                                                                      "xxx.....",  //
                                                                      "xxxx....",  //
                                                                      "xx..x...",  //
                                                                      "xxxxxx..",  //
                                                                      "xxxxxxx.",  //
                                                                      "xxxxx..x"));
}

TEST(DenseMask, WindowCountsPositionsNotRows) {
  EXPECT_THAT(Drawn(DenseMask(kEveryKind, 2)), ElementsAre("x.......",  //
                                                           "xx......",  //
                                                           ".xx.....",  //
                                                           "..xx....",  //
                                                           ".x..x...",  //
                                                           "...x.x..",  //
                                                           ".....xx.",  //
                                                           "...x...x"));
}

TEST(DenseMask, ContinuedSegmentsAreOneBlockOrOneSuffix) {
  const std::vector<Segment> segments = {
      {SegmentKind::kPrefix, 1, 0},      {SegmentKind::kBlock, 2, 1},
      {SegmentKind::kBlock, 1, 3, true}, {SegmentKind::kBlock, 1, 1},
      {SegmentKind::kSuffix, 1, 4},      {SegmentKind::kSuffix, 1, 5, true},
      {SegmentKind::kSuffix, 1, 4}};
  EXPECT_THAT(Drawn(DenseMask(segments, std::nullopt)), ElementsAre("x.......",  //
                                                                    "xx......",  //
                                                                    "xxx.....",  //
                                                                    "xxxx....",  //
                                                                    "x...x...",  //
                                                                    "xxxxxx..",  //
                                                                    "xxxxxxx.",  //
                                                                    "xxxxx..x"));
}

TEST(PackedLayout, Groups) {
  const PackedLayout layout = LayOutGroups({1, 2}, {{{3}, {4, 5}, {}}, {{6}}}, {{7, 8}, {9}});
  EXPECT_THAT(layout.tokens, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(RowPositions(layout.segments), ElementsAre(0, 1, 2, 3, 4, 2, 5, 6, 5));
  EXPECT_THAT(layout.last_rows, ElementsAre(1, 2, 4, 4, 5, 7, 8));
}

TEST(PackedLayout, Shared) {
  const PackedLayout layout = LayOut({1, 2}, {{3, 4, 5}, {}, {6}}, {7, 8});
  EXPECT_THAT(layout.tokens, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(RowPositions(layout.segments), ElementsAre(0, 1, 2, 3, 4, 2, 5, 6));
  EXPECT_THAT(layout.last_rows, ElementsAre(1, 4, 1, 5, 7));
}

TEST(PackedLayout, Offset) {
  const PackedLayout layout = LayOut({1, 2}, {{3, 4, 5}, {6}}, {7}, PositionStrategy::kOffset);
  EXPECT_THAT(RowPositions(layout.segments), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(LogProbabilities, OfLogitsThatWouldOverflow) {
  const std::vector<double> result = LogSoftmax(std::vector<double>{1000, 1000 + std::log(3.0)});
  EXPECT_NEAR(result[0], std::log(0.25), 1000 * std::numeric_limits<double>::epsilon());
  EXPECT_NEAR(result[1], std::log(0.75), 1000 * std::numeric_limits<double>::epsilon());
}

TEST(LogProbabilities, TopIsByValueThenId) {
  const auto top = Top(std::vector<double>{1, 5, 2, 5}, 3);
  EXPECT_THAT(top, ElementsAre(std::pair(1, 5.0), std::pair(3, 5.0), std::pair(2, 2.0)));
}

TEST(CheckpointReader, F16AndBf16AreExact) {
  const TempDirectory dir;
  const std::string header = R"({"h":{"dtype":"F16","shape":[6],"data_offsets":[0,12]},)"
                             R"("b":{"dtype":"BF16","shape":[1,2],"data_offsets":[12,16]}})";
  const std::vector<std::uint16_t> data = {0x3c00,   // 1
                                           0xc000,   // -2
                                           0x0001,   // the smallest subnormal
                                           0x03ff,   // the largest subnormal
                                           0x7bff,   // the largest finite number
                                           0x8000,   // -0
                                           0x3f80,   // 1
                                           0xc049};  // -3.140625
  std::ofstream file(dir.path() / "model.safetensors", std::ios::binary);
  const std::uint64_t size = header.size();
  file.write(reinterpret_cast<const char*>(&size), sizeof(size));
  file << header;
  file.write(reinterpret_cast<const char*>(data.data()), 2 * 8);
  file.close();

  const auto tensors = ReadCheckpoint(dir.path());
  EXPECT_THAT(tensors.at("h").values,
              ElementsAre(1.0, -2.0, 0x1p-24, 1023 * 0x1p-24, 65504.0, 0.0));
  EXPECT_TRUE(std::signbit(tensors.at("h").values[5]));
  EXPECT_THAT(tensors.at("b").shape, ElementsAre(1, 2));
  EXPECT_THAT(tensors.at("b").values, ElementsAre(1.0, -3.140625));
}

std::vector<std::vector<double>> SomeLogits(const std::filesystem::path& model_dir) {
  const ReferenceModel model(model_dir);
  const PackedLayout layout = LayOut(RandomTokens(1, 6, model.config().vocab_size),
                                     {{1, 2, 3}, {4}}, {5, 6}, PositionStrategy::kShared);
  return model.Logits(layout.tokens, layout.segments, layout.last_rows);
}

std::vector<std::vector<double>> SomeLogits(const RandomCheckpoint& checkpoint) {
  const TempDirectory dir;
  WriteRandomCheckpoint(dir.path(), checkpoint);
  return SomeLogits(dir.path());
}

// A tensor that is missing, misshapen or unused would cause an exception.
TEST(RandomCheckpoint, EveryOptionIsReadBack) {
  std::vector<RandomCheckpoint> checkpoints(5);
  checkpoints[0].config = TinyConfig("llama");
  checkpoints[1].config = TinyConfig("llama");
  checkpoints[1].config.attention_bias = true;
  checkpoints[1].config.attention_output_bias = true;
  checkpoints[1].config.mlp_bias = true;
  checkpoints[2].config = TinyConfig("qwen2");
  checkpoints[2].config.tie_word_embeddings = true;
  checkpoints[3].config = TinyConfig("qwen3");
  checkpoints[3].config.head_dim = 16;
  checkpoints[3].dtype = StoredDtype::kBf16;
  checkpoints[4].config = TinyConfig("llama");
  checkpoints[4].config.num_attention_heads = 9;
  checkpoints[4].config.num_key_value_heads = 3;
  checkpoints[4].config.intermediate_size = 37;
  checkpoints[4].config.vocab_size = 101;
  for (const RandomCheckpoint& checkpoint : checkpoints) {
    const TempDirectory dir;
    WriteRandomCheckpoint(dir.path(), checkpoint);
    const proto::ModelConfig read = ReadReferenceConfig(dir.path());
    EXPECT_EQ(read.head_dim, checkpoint.config.head_dim);
    EXPECT_EQ(read.attention_bias, checkpoint.config.attention_bias);
    EXPECT_EQ(read.attention_output_bias, checkpoint.config.attention_output_bias);
    EXPECT_EQ(read.mlp_bias, checkpoint.config.mlp_bias);
    EXPECT_EQ(read.layers, checkpoint.config.layers);
    EXPECT_EQ(read.tie_word_embeddings, checkpoint.config.tie_word_embeddings);
    for (const std::vector<double>& row : SomeLogits(dir.path())) {
      EXPECT_EQ(static_cast<std::int64_t>(row.size()), checkpoint.config.vocab_size);
      EXPECT_TRUE(std::isfinite(LogSoftmax(row).front()));
    }
  }
}

TEST(RandomCheckpoint, SeedDecidesAndShardsDoNot) {
  RandomCheckpoint checkpoint{TinyConfig("qwen3")};
  const auto logits = SomeLogits(checkpoint);
  checkpoint.shards = 3;
  EXPECT_EQ(SomeLogits(checkpoint), logits);
  checkpoint.seed = 1;
  EXPECT_NE(SomeLogits(checkpoint), logits);
}

TEST(RandomCheckpoint, Bf16IsTheNearestToF32) {
  const TempDirectory f32_dir;
  const TempDirectory bf16_dir;
  WriteRandomCheckpoint(f32_dir.path(), {TinyConfig("llama"), 7, StoredDtype::kF32});
  WriteRandomCheckpoint(bf16_dir.path(), {TinyConfig("llama"), 7, StoredDtype::kBf16});
  const auto f32 = ReadCheckpoint(f32_dir.path());
  const auto bf16 = ReadCheckpoint(bf16_dir.path());
  ASSERT_EQ(f32.size(), bf16.size());
  for (const auto& [name, tensor] : f32) {
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      const double exact = tensor.values[i];
      ASSERT_LE(std::abs(bf16.at(name).values[i] - exact), std::abs(exact) * 0x1p-8) << name;
    }
  }
}

TEST(RandomCheckpoint, OptionsThatNoConfigCanExpressAreRefused) {
  const TempDirectory dir;
  RandomCheckpoint checkpoint{TinyConfig("llama")};
  checkpoint.config.attention_bias = true;  // A llama would then have a bias in o_proj, too.
  EXPECT_THROW(WriteRandomCheckpoint(dir.path(), checkpoint), std::invalid_argument);
}

TEST(ReferenceModel, TensorsThatWouldNotBeUsedAreRefused) {
  const TempDirectory biased;
  const TempDirectory plain;
  RandomCheckpoint checkpoint{TinyConfig("llama")};
  WriteRandomCheckpoint(plain.path(), checkpoint);
  checkpoint.config.mlp_bias = true;
  WriteRandomCheckpoint(biased.path(), checkpoint);
  std::filesystem::copy_file(plain.path() / "config.json", biased.path() / "config.json",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THROW(ReferenceModel{biased.path()}, std::runtime_error);
}

TEST(Rounding, Bfloat16HasEightBits) {
  EXPECT_EQ(ToBfloat16(0.0), 0.0);
  EXPECT_EQ(ToBfloat16(-3.0), -3.0);
  EXPECT_EQ(ToBfloat16(1.0 + 0x1p-7), 1.0 + 0x1p-7);
  EXPECT_EQ(ToBfloat16(1.0 + 0x1p-8), 1.0);  // Ties to even, downwards and upwards.
  EXPECT_EQ(ToBfloat16(1.0 + 0x3p-8), 1.0 + 0x1p-6);
  EXPECT_EQ(ToBfloat16(-(1.0 + 0x1.8p-8)), -(1.0 + 0x1p-7));
  EXPECT_EQ(ToBfloat16(2.0 - 0x1p-10), 2.0);
}

TEST(Rounding, Int8IsInTheHadamardBasis) {
  // In that basis, the row's elements are 2, 1, 1 and 0; 1 is halfway between 63 and 64 steps.
  std::vector<double> row = {2, 1, 1, 0};
  ToInt8(row);
  const double one = 64 * 2.0 / 127;
  EXPECT_THAT(row, testing::Pointwise(testing::DoubleNear(1e-12), {1 + one, 1.0, 1.0, 1 - one}));
  // An outlier destroys the other elements only if it is not spread, as in this row: 3 has no
  // factor of 2.
  std::vector<double> odd = {1000, 1, 1};
  ToInt8(odd);
  EXPECT_THAT(odd, ElementsAre(1000, 0, 0));
  std::vector<double> zeros(6, 0.0);
  ToInt8(zeros);
  EXPECT_THAT(zeros, testing::Each(0.0));
}

// The error of a rounding is visible, and grows with its coarseness.
TEST(ReferenceModel, RoundsToAPrecision) {
  const TempDirectory dir;
  WriteRandomCheckpoint(dir.path(), {TinyConfig("qwen3")});
  const PackedLayout layout = LayOut(RandomTokens(1, 6, 64), {{1, 2, 3}, {4}}, {5, 6});
  const auto logits = [&](Rounding rounding) {
    return ReferenceModel(dir.path(), rounding)
        .Logits(layout.tokens, layout.segments, layout.last_rows);
  };
  const auto exact = logits({});
  const auto error = [&](Rounding rounding) {
    double squares = 0;
    const auto rounded = logits(rounding);
    for (std::size_t row = 0; row < exact.size(); ++row) {
      for (std::size_t i = 0; i < exact[row].size(); ++i) {
        squares += std::pow(rounded[row][i] - exact[row][i], 2);
      }
    }
    return std::sqrt(squares);
  };
  const double bfloat16 = error({Precision::kBfloat16});
  EXPECT_GT(bfloat16, 0);
  EXPECT_NE(error({Precision::kBfloat16, /*summands=*/true}), bfloat16);
  EXPECT_GT(error({Precision::kInt8}), bfloat16);
}

TEST(RandomTokens, AreBelowTheVocabularyAndAvoidTheDelimiter) {
  const std::vector<TokenId> tokens = RandomTokens(3, 1000, 5, 2);
  EXPECT_EQ(tokens.size(), 1000U);
  EXPECT_THAT(tokens, testing::Each(testing::AnyOf(0, 1, 3, 4)));
}

TEST(TempDirectory, IsGoneAfterwards) {
  std::filesystem::path path;
  {
    const TempDirectory dir;
    path = dir.path();
    std::ofstream(path / "file") << "x";
    EXPECT_TRUE(std::filesystem::exists(path / "file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace reference_test
}  // namespace scorecast::reference
