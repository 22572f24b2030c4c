// Encodings of vectors. The expected texts and bytes are those of Python's struct and base64 and of
// NumPy's packbits.

#include "coordinator/embeddings/embedding_values.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace embedding_values_test {

using ::testing::ElementsAre;
using ::testing::FloatEq;

TEST(EmbeddingValues, Base64IsOfFloatsInLittleEndianOrder) {
  // base64.b64encode(struct.pack("<1f", 1.0)), and so on
  EXPECT_EQ(Base64Of(std::vector<float>{}), "");
  EXPECT_EQ(Base64Of(std::vector<float>{1.0F}), "AACAPw==");
  EXPECT_EQ(Base64Of(std::vector<float>{1.0F, -2.5F}), "AACAPwAAIMA=");
  EXPECT_EQ(Base64Of(std::vector<float>{0.1F, -0.2F, 3e-5F}), "zczMPc3MTL6CqPs3");
}

TEST(EmbeddingValues, Base64IsAlsoOfBytesWithOrWithoutASign) {
  // base64.b64encode(struct.pack("<4b", -128, -1, 0, 127))
  EXPECT_EQ(Base64Of(std::vector<std::int32_t>{-128, -1, 0, 127}), "gP8Afw==");
  EXPECT_EQ(Base64Of(std::vector<std::int32_t>{128, 255, 0, 127}), "gP8Afw==");
}

TEST(EmbeddingValues, BitsArePackedFromTheHighBit) {
  const std::vector<float> values = {1, -1, 0, 2, 3, -4, -5, 6, -1, -1, -1, -1, -1, -1, -1, 0.5F};
  EXPECT_THAT(PackedBits(values, /*is_signed=*/false), ElementsAre(0b10011001, 1));
  EXPECT_THAT(PackedBits(values, /*is_signed=*/true), ElementsAre(0b10011001 - 128, 1 - 128));
}

TEST(EmbeddingValues, AVectorGetsTheLengthOne) {
  std::vector<float> values = {3, 4};
  Normalize(values);
  EXPECT_THAT(values, ElementsAre(0.6F, 0.8F));
  std::vector<float> zeros = {0, 0};
  Normalize(zeros);
  EXPECT_THAT(zeros, ElementsAre(0, 0));
  // In float32 the squares would be infinite.
  std::vector<float> large = {3e30F, 4e30F};
  Normalize(large);
  EXPECT_THAT(large, ElementsAre(FloatEq(0.6F), FloatEq(0.8F)));
}

TEST(EmbeddingValues, TheCosineDoesNotDependOnLengths) {
  const auto cosine = [](const std::vector<float>& a, const std::vector<float>& b) {
    return SimilarityOf(Similarity::kCosine, a, b);
  };
  EXPECT_DOUBLE_EQ(cosine({1, 0}, {3, 4}), 0.6);
  EXPECT_DOUBLE_EQ(cosine({2, 1}, {-4, -2}), -1);
  EXPECT_EQ(cosine({0, 0}, {3, 4}), 0);
}

// As sentence_transformers.util.dot_score, euclidean_sim and manhattan_sim.
TEST(EmbeddingValues, OtherSimilaritiesDependOnLengths) {
  const std::vector<float> a = {1, 2, -3};
  const std::vector<float> b = {4, -2, 0};
  EXPECT_EQ(SimilarityOf(Similarity::kDot, a, b), 0);
  EXPECT_EQ(SimilarityOf(Similarity::kDot, a, a), 14);
  EXPECT_DOUBLE_EQ(SimilarityOf(Similarity::kEuclidean, a, b), -std::sqrt(34.0));
  EXPECT_EQ(SimilarityOf(Similarity::kManhattan, a, b), -10);
  EXPECT_EQ(SimilarityOf(Similarity::kEuclidean, a, a), 0);
}

}  // namespace embedding_values_test
}  // namespace scorecast::coordinator
