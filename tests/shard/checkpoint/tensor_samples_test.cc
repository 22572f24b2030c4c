// Digests of checkpoints: equal for copies, different for other models of the same shapes.

#include "shard/checkpoint/tensor_samples.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/checkpoint/checkpoint.h"
#include "tests/shard/checkpoint/model_files.h"

namespace scorecast::shard {
namespace tensor_samples_test {

constexpr std::size_t kSmall = 4000;
constexpr std::size_t kLarge = 1 << 20;

/// Two tensors, of which the second has a megabyte.
std::string File(const std::string& data, const std::string& name = "large") {
  return SafetensorsFile(R"({"small":{"dtype":"F32","shape":[1000],"data_offsets":[0,4000]},")" +
                             name +
                             R"(":{"dtype":"F32","shape":[262144],"data_offsets":[4000,1052576]}})",
                         data);
}

std::uint64_t DigestOf(const std::string& file) {
  const TempDir dir;
  dir.Write("model.safetensors", file);
  const std::vector<Checkpoint::FileDigest> digests = Checkpoint::Open(dir.path()).Digests();
  EXPECT_EQ(digests.size(), 1U);
  EXPECT_EQ(digests.at(0).name, "model.safetensors");
  EXPECT_EQ(digests.at(0).path, (dir.path() / "model.safetensors").string());
  return digests.at(0).digest;
}

TEST(TensorSamplesTest, CopiesHaveTheSameDigest) {
  const std::string data(kSmall + kLarge, 'x');
  EXPECT_EQ(DigestOf(File(data)), DigestOf(File(data)));
}

TEST(TensorSamplesTest, TheHeaderCounts) {
  const std::string data(kSmall + kLarge, 'x');
  EXPECT_NE(DigestOf(File(data)), DigestOf(File(data, "other")));
}

TEST(TensorSamplesTest, EveryByteOfASmallTensorCounts) {
  std::string data(kSmall + kLarge, 'x');
  const std::uint64_t digest = DigestOf(File(data));
  for (std::size_t at = 0; at < kSmall; at += 571) {
    std::string changed = data;
    changed[at] = 'y';
    EXPECT_NE(DigestOf(File(changed)), digest) << at;
  }
}

TEST(TensorSamplesTest, BothEndsAndTheMiddleOfALargeTensorCount) {
  std::string data(kSmall + kLarge, 'x');
  const std::uint64_t digest = DigestOf(File(data));
  for (const std::size_t at : {kSmall, kSmall + kLarge / 2 + 9, kSmall + kLarge - 1}) {
    std::string changed = data;
    changed[at] = 'y';
    EXPECT_NE(DigestOf(File(changed)), digest) << at;
  }
}

}  // namespace tensor_samples_test
}  // namespace scorecast::shard
