#include "shard/checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "shard/checkpoint/tensor_view.h"
#include "tests/reference/directories.h"
#include "tests/shard/checkpoint/model_files.h"

namespace scorecast::shard {
namespace checkpoint_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::filesystem::path Family(const std::string& name) {
  return std::filesystem::path(reference::kTestsDirectory) / "golden" / "families" / name;
}

template <typename Function>
std::string ErrorOf(const Function& function) {
  try {
    function();
  } catch (const proto::StartupError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

std::string ErrorOfOpen(const std::filesystem::path& dir) {
  const std::string message = ErrorOf([&] { Checkpoint::Open(dir); });
  EXPECT_THAT(message, HasSubstr(dir.string()));
  return message;
}

float At(const TensorView& tensor, std::int64_t row, std::int64_t col) {
  float value = 0;
  ReadBlock(tensor, {row, row + 1}, {col, col + 1}, &value, 1);
  return value;
}

std::vector<float> Vector(const TensorView& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.num_elements()));
  ReadRows(tensor, {0, tensor.num_elements()}, out.data());
  return out;
}

// The values below were read from the files with Python's struct module.

TEST(CheckpointTest, ReadsF32) {
  const Checkpoint checkpoint = Checkpoint::Open(Family("llama"));
  EXPECT_THAT(checkpoint.Names(), SizeIs(30));
  EXPECT_TRUE(std::ranges::is_sorted(checkpoint.Names()));
  EXPECT_THAT(checkpoint.Names(), Contains("model.layers.2.self_attn.v_proj.weight"));
  EXPECT_TRUE(checkpoint.Has("lm_head.weight"));
  EXPECT_FALSE(checkpoint.Has("lm_head"));
  const TensorView& head = checkpoint.Require("lm_head.weight", {320, 48});
  EXPECT_EQ(head.dtype, Dtype::kF32);
  EXPECT_EQ(At(head, 0, 0), -0x1.01e576p-6F);
  EXPECT_EQ(At(head, 1, 0), 0x1.0bea0cp-2F);
  EXPECT_EQ(At(head, 319, 47), -0x1.f32bdp-2F);
  EXPECT_EQ(Vector(checkpoint.Get("model.norm.weight"))[47], 0x1.322b92p+0F);
}

TEST(CheckpointTest, ReadsBf16) {
  const Checkpoint checkpoint = Checkpoint::Open(Family("qwen3"));
  const std::vector<float> norm =
      Vector(checkpoint.Require("model.layers.2.self_attn.q_norm.weight", {16}));
  EXPECT_EQ(norm[0], 0.79296875F);
  EXPECT_EQ(norm[1], 0.94921875F);
  EXPECT_EQ(norm[15], 1.1953125F);
  const TensorView& output =
      checkpoint.Require("model.layers.1.self_attn.o_proj.weight", {64, 128});
  EXPECT_EQ(output.dtype, Dtype::kBF16);
  EXPECT_EQ(At(output, 63, 127), 0.138671875F);
  EXPECT_EQ(At(output, 5, 7), -0.103515625F);
}

TEST(CheckpointTest, ReadsF16) {
  const Checkpoint checkpoint = Checkpoint::Open(Family("llama-linear"));
  const TensorView& down = checkpoint.Require("model.layers.0.mlp.down_proj.weight", {48, 112});
  EXPECT_EQ(down.dtype, Dtype::kF16);
  EXPECT_EQ(At(down, 0, 0), -0.177978515625F);
  EXPECT_EQ(At(down, 0, 1), 0.0187835693359375F);
  EXPECT_EQ(At(down, 47, 111), 0.057373046875F);
}

TEST(CheckpointTest, ReadsShardsByTheirIndex) {
  const Checkpoint checkpoint = Checkpoint::Open(Family("llama3"));
  EXPECT_THAT(checkpoint.Names(), SizeIs(30));
  EXPECT_EQ(At(checkpoint.Require("lm_head.weight", {320, 48}), 319, 47), 0.1328125F);
  EXPECT_EQ(At(checkpoint.Require("model.embed_tokens.weight", {320, 48}), 17, 0), -0.111328125F);
  EXPECT_EQ(Vector(checkpoint.Require("model.norm.weight", {48}))[47], 0.87109375F);
}

TEST(CheckpointTest, MissingAndMisshapenTensorsAreNamed) {
  const Checkpoint checkpoint = Checkpoint::Open(Family("llama3"));
  EXPECT_THAT(ErrorOf([&] { checkpoint.Get("model.layers.3.mlp.up_proj.weight"); }),
              AllOf(HasSubstr("llama3"), HasSubstr("\"model.layers.3.mlp.up_proj.weight\""),
                    HasSubstr("missing")));
  EXPECT_THAT(ErrorOf([&] { checkpoint.Require("nothing", {1}); }), HasSubstr("\"nothing\""));
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{48, 320}, {320}, {320, 48, 1}, {}}) {
    EXPECT_THAT(
        ErrorOf([&] { checkpoint.Require("lm_head.weight", shape); }),
        AllOf(HasSubstr("model-00001-of-00003.safetensors"), HasSubstr("\"lm_head.weight\""),
              HasSubstr("has shape [320, 48]"), HasSubstr("requires " + ShapeText(shape))));
  }
}

constexpr char kTwo[] = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                        R"("n":{"dtype":"I32","shape":[1],"data_offsets":[4,8]}})";
constexpr char kOne[] = R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";

TEST(CheckpointTest, AddsFilesOfFolders) {
  const TempDir dir;
  dir.Write("model.safetensors", SafetensorsFile(kTwo, "aaaannnn"));
  std::filesystem::create_directory(dir.path() / "2_Dense");
  dir.Write("2_Dense/model.safetensors", SafetensorsFile(kOne, "bbbb"));
  Checkpoint checkpoint = Checkpoint::Open(dir.path());
  checkpoint.AddFile("2_Dense/model.safetensors");
  EXPECT_THAT(checkpoint.Names(), ElementsAre("2_Dense/b", "a", "n"));
  EXPECT_EQ(checkpoint.Digests().at(1).name, "2_Dense/model.safetensors");
  EXPECT_EQ(Vector(checkpoint.Get("2_Dense/b")), Vector(checkpoint.Require("2_Dense/b", {1})));
  EXPECT_THAT(ErrorOf([&] { checkpoint.Require("2_Dense/b", {2}); }),
              AllOf(HasSubstr("2_Dense/model.safetensors"), HasSubstr("has shape [1]")));
  EXPECT_THAT(ErrorOf([&] { checkpoint.AddFile("3_Dense/model.safetensors"); }),
              HasSubstr("3_Dense/model.safetensors: there is no such file"));
}

TEST(CheckpointTest, RenamesTensors) {
  const TempDir dir;
  dir.Write("model.safetensors", SafetensorsFile(kTwo, "aaaannnn"));
  Checkpoint checkpoint = Checkpoint::Open(dir.path());
  checkpoint.Rename([](const std::string& name) { return name == "n" ? name : "model." + name; });
  EXPECT_THAT(checkpoint.Names(), ElementsAre("model.a", "n"));
  EXPECT_TRUE(checkpoint.Has("model.a"));
  EXPECT_FALSE(checkpoint.Has("a"));
  checkpoint.Rename([](const std::string&) { return std::string("n"); });
  EXPECT_THAT(checkpoint.Names(), ElementsAre("model.a", "n")) << "the name is taken";
}

TEST(CheckpointTest, ADtypeThatWeDoNotReadIsAnErrorWhenAskedFor) {
  const TempDir dir;
  dir.Write("model.safetensors", SafetensorsFile(kTwo, "aaaannnn"));
  const Checkpoint checkpoint = Checkpoint::Open(dir.path());
  EXPECT_THAT(checkpoint.Names(), ElementsAre("a", "n"));
  EXPECT_NO_THROW(checkpoint.Get("a"));
  for (const std::string& message :
       {ErrorOf([&] { checkpoint.Get("n"); }), ErrorOf([&] { checkpoint.Require("n", {1}); })}) {
    EXPECT_THAT(message, AllOf(HasSubstr("model.safetensors"), HasSubstr("\"n\""), HasSubstr("I32"),
                               HasSubstr("F32, F16 and BF16")));
  }
}

TEST(CheckpointTest, DirectoriesWithoutACheckpointAreRefused) {
  const TempDir dir;
  EXPECT_THAT(ErrorOfOpen(dir.path()),
              AllOf(HasSubstr("model.safetensors"), HasSubstr("model.safetensors.index.json")));
  EXPECT_THAT(ErrorOfOpen(dir.path() / "nothing"), HasSubstr("not a directory"));
  std::filesystem::create_directory(dir.path() / "model.safetensors");
  EXPECT_THAT(ErrorOfOpen(dir.path()), HasSubstr("not a regular file"));
  std::filesystem::remove(dir.path() / "model.safetensors");
  std::filesystem::create_symlink("absent", dir.path() / "model.safetensors");
  EXPECT_THAT(ErrorOfOpen(dir.path()),
              HasSubstr("model.safetensors: it is a link to a file that does not exist"));
}

TEST(CheckpointTest, TruncatedFilesAreNamedWithBothSizes) {
  const TempDir dir;
  const std::string whole = SafetensorsFile(kTwo, "aaaannnn");
  dir.Write("model.safetensors", whole.substr(0, whole.size() - 3));
  EXPECT_THAT(ErrorOfOpen(dir.path()), AllOf(HasSubstr("/model.safetensors: truncated"),
                                             HasSubstr(std::to_string(whole.size())),
                                             HasSubstr(std::to_string(whole.size() - 3))));
  dir.Write("model.safetensors", "");
  EXPECT_THAT(ErrorOfOpen(dir.path()), HasSubstr("/model.safetensors: truncated"));
}

/// A directory with two shards and the index that a test writes.
class IndexTest : public ::testing::Test {
 protected:
  IndexTest() {
    dir_.Write("1.safetensors", SafetensorsFile(kTwo, "aaaannnn"));
    dir_.Write("2.safetensors", SafetensorsFile(kOne, "bbbb"));
  }

  void WriteIndex(const std::string& text) const {
    dir_.Write("model.safetensors.index.json", text);
  }

  std::string ErrorOfIndex(const std::string& text) const {
    WriteIndex(text);
    return ErrorOfOpen(dir_.path());
  }

  const TempDir dir_;
};

TEST_F(IndexTest, TensorsThatTheIndexLeavesOutAreThereToo) {
  WriteIndex(R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})");
  EXPECT_THAT(Checkpoint::Open(dir_.path()).Names(), ElementsAre("a", "b", "n"));
}

TEST_F(IndexTest, TheIndexSaysWhichOfTwoIsMeant) {
  dir_.Write("2.safetensors",
             SafetensorsFile(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                             "aaaaaaaabbbb"));
  WriteIndex(R"({"weight_map":{"n":"1.safetensors","a":"2.safetensors"}})");
  EXPECT_THAT(Checkpoint::Open(dir_.path()).Get("a").shape, ElementsAre(2));
  WriteIndex(R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})");
  EXPECT_THAT(Checkpoint::Open(dir_.path()).Get("a").shape, ElementsAre(1));
}

TEST_F(IndexTest, TensorsThatAreNotInTheirFileAreNamed) {
  EXPECT_THAT(ErrorOfIndex(R"({"weight_map":{"a":"2.safetensors","b":"2.safetensors"}})"),
              AllOf(HasSubstr("2.safetensors: "), HasSubstr("\"a\"")));
  EXPECT_THAT(ErrorOfIndex(R"({"weight_map":{"a":"1.safetensors","c":"1.safetensors"}})"),
              AllOf(HasSubstr("1.safetensors: "), HasSubstr("\"c\"")));
}

TEST_F(IndexTest, MissingFilesAreNamed) {
  EXPECT_THAT(ErrorOfIndex(R"({"weight_map":{"a":"1.safetensors","b":"3.safetensors"}})"),
              AllOf(HasSubstr("index.json"), HasSubstr("\"3.safetensors\"")));
}

TEST_F(IndexTest, ABadShardIsNamed) {
  dir_.Write("2.safetensors", SafetensorsFile(kOne, "bbb"));
  EXPECT_THAT(ErrorOfIndex(R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})"),
              HasSubstr("/2.safetensors: truncated"));
}

TEST_F(IndexTest, FilesOutsideTheDirectoryAreRefused) {
  std::filesystem::create_directory(dir_.path() / "sub");
  for (const std::string file :
       {"../1.safetensors", "/etc/passwd", "sub/../1.safetensors", "sub/1.safetensors", "..", ".",
        "", "a\\\\b", "1.safetensors\\u0000"}) {
    EXPECT_THAT(
        ErrorOfIndex(R"({"weight_map":{"a":")" + file + R"("}})"),
        AllOf(HasSubstr("tensor \"a\""), HasSubstr("does not name a file in the same directory")))
        << file;
  }
}

TEST_F(IndexTest, IndexesOfAnotherFormAreRefused) {
  for (const char* text :
       {"", "{", "[]", "1", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})",
        R"({"weight_map":{"a":1}})", R"({"weight_map":{"a":null}})",
        R"({"weight_map":"1.safetensors"})", "{\"weight_map\":{\"\xff\":\"1.safetensors\"}}"}) {
    EXPECT_THAT(ErrorOfIndex(text), HasSubstr("model.safetensors.index.json: ")) << text;
  }
  const std::string good = R"({"weight_map":{"a":"1.safetensors"}})";
  ErrorOfIndex(good + std::string("\0x", 2));
  ErrorOfIndex(R"({"weight_map":)" + std::string(1000000, '['));
  WriteIndex(R"({"x":)" + std::string(1000000, '[') + std::string(1000000, ']') + "," +
             good.substr(1));
  EXPECT_NO_THROW(Checkpoint::Open(dir_.path()));
}

TEST_F(IndexTest, ASingleFileIsPreferred) {
  WriteIndex("{");
  dir_.Write("model.safetensors", SafetensorsFile(kOne, "bbbb"));
  EXPECT_THAT(Checkpoint::Open(dir_.path()).Names(), ElementsAre("b"));
}

/// Bytes of mapped files that are in this process's memory.
std::int64_t ResidentFileBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::int64_t sum = 0;
  while (status >> word) {
    if (word == "RssFile:" || word == "RssShmem:") {  // RssShmem counts files of a tmpfs.
      std::int64_t kilobytes = 0;
      status >> kilobytes;
      sum += kilobytes * 1024;
    }
  }
  return sum;
}

TEST(CheckpointTest, FilesTakeNoMemoryOfTheProcess) {
  constexpr std::int64_t kRows = 65536;
  constexpr std::int64_t kCols = 1024;  // 4 KiB a row, 256 MiB in all.
  constexpr std::int64_t kBytes = kRows * kCols * 4;
  constexpr std::int64_t kSlack = 8 << 20;  // Allowance for other pages of the program.
  const TempDir dir;
  dir.Write("model.safetensors",
            SafetensorsFile(R"({"w":{"dtype":"F32","shape":[65536,1024],"data_offsets":[0,)" +
                                std::to_string(kBytes) + "]}}",
                            ""));
  const std::filesystem::path file = dir.path() / "model.safetensors";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) + kBytes);  // A hole.

  const std::int64_t before = ResidentFileBytes();
  const Checkpoint checkpoint = Checkpoint::Open(dir.path());
  const TensorView& tensor = checkpoint.Require("w", {kRows, kCols});
  EXPECT_LT(ResidentFileBytes() - before, kSlack);

  constexpr proto::Range kSlice{40000, 40000 + 8192};  // 32 MiB.
  std::vector<float> out(static_cast<std::size_t>(kSlice.size() * kCols), 1);
  ReadRows(tensor, kSlice, out.data());
  EXPECT_EQ(std::ranges::count(out, 0.0F), kSlice.size() * kCols);
  EXPECT_LT(ResidentFileBytes() - before, kSlack);
}

}  // namespace checkpoint_test
}  // namespace scorecast::shard
