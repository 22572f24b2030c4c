#include "tests/mpi/stored_oracle.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/replace_file.h"
#include "tests/reference/reference_config.h"

namespace scorecast::testing {
namespace {

using reference::ReferenceModel;

/// Values as bytes: those that a result depends on, or a result. Different values have different
/// bytes.
class Bytes {
 public:
  template <typename... Values>
  void Add(const Values&... values) {
    (AddOne(values), ...);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  template <typename Value>
  requires std::is_arithmetic_v<Value> || std::is_enum_v<Value>
  void AddOne(Value value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void AddOne(const std::string& text) { AddOne(std::span(text)); }
  void AddOne(const std::filesystem::path& path) { AddOne(path.string()); }
  template <typename Value>
  void AddOne(const std::optional<Value>& value) {
    AddOne(value.has_value());
    if (value) {
      AddOne(*value);
    }
  }
  template <typename Value>
  void AddOne(const std::vector<Value>& values) {
    AddOne(std::span(values));
  }
  template <typename Value, std::size_t kExtent>
  void AddOne(std::span<Value, kExtent> values) {
    AddOne(values.size());
    for (const auto& value : values) {
      AddOne(value);
    }
  }

  // Each of these names all fields: with one more or less it does not compile.
  void AddOne(const proto::Segment& segment) {
    const auto& [kind, length, first_position, continues] = segment;
    Add(kind, length, first_position, continues);
  }
  void AddOne(const proto::BlockWeighting& weighting) {
    const auto& [temperature, scale] = weighting;
    Add(temperature, scale);
  }
  void AddOne(const reference::Rounding& rounding) {
    const auto& [products, summands] = rounding;
    Add(products, summands);
  }
  void AddOne(const proto::RopeConfig& rope) {
    const auto& [type, theta, factor, original_positions, low_freq, high_freq, beta_fast, beta_slow,
                 truncate, attention_factor] = rope;
    Add(type, theta, factor, original_positions, low_freq, high_freq, beta_fast, beta_slow,
        truncate, attention_factor);
  }
  void AddOne(const proto::LearnedPositions& positions) {
    const auto& [rows, padding] = positions;
    Add(rows, padding);
  }
  void AddOne(const proto::LayerConfig& layer) {
    const auto& [rope_table, window, qk_norm, post_attention_norm, post_feedforward_norm,
                 input_norm, pre_feedforward_norm, residual_norms] = layer;
    Add(rope_table, window, qk_norm, post_attention_norm, post_feedforward_norm, input_norm,
        pre_feedforward_norm, residual_norms);
  }
  void AddOne(const proto::HeadStep& step) {
    const auto& [weight, bias, norm, norm_bias, activation, out_features, file, norm_eps] = step;
    Add(weight, bias, norm, norm_bias, activation, out_features, file, norm_eps);
  }
  void AddOne(const proto::ReadHead& head) {
    const auto& [pooling, steps, normalize, temperature, output_size] = head;
    Add(pooling, steps, normalize, temperature, output_size);
  }
  void AddOne(const proto::ModelConfig& config) {
    const auto& [architecture, model_type, hidden, heads, kv_heads, head_dim, intermediate, vocab,
                 positions, norm, norm_eps, norm_bias, plus_one, embedding_norm, embedding_size,
                 final_norm, activation, embedding_scale, query_scale, attention_cap, logit_cap,
                 rope_tables, learned_positions, type_vocab, bidirectional, gated, layers, naming,
                 base_prefix, attention_bias, output_bias, mlp_bias, tied, labels, problem_type,
                 read_head, dtype, bos, eos] = config;
    Add(architecture, model_type, hidden, heads, kv_heads, head_dim, intermediate, vocab, positions,
        norm, norm_eps, norm_bias, plus_one, embedding_norm, embedding_size, final_norm, activation,
        embedding_scale, query_scale, attention_cap, logit_cap, rope_tables, learned_positions,
        type_vocab, bidirectional, gated, layers, naming, base_prefix, attention_bias, output_bias,
        mlp_bias, tied, labels, problem_type, read_head, dtype, bos, eos);
  }

  std::string bytes_;
};

/// Tells builds of this program apart.
void AddProgram(Bytes& key) {
  struct stat program {};
  if (stat("/proc/self/exe", &program) != 0) {
    throw std::system_error(errno, std::generic_category(), "/proc/self/exe");
  }
  key.Add(program.st_size, program.st_mtim.tv_sec, program.st_mtim.tv_nsec);
}

/// Adds all weights of the directory, and which file has which of them.
void AddWeights(const std::filesystem::path& model_dir, Bytes& key) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(model_dir)) {
    if (entry.path().string().find(".safetensors") != std::string::npos) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    stream.exceptions(std::ios::badbit);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    key.Add(file.lexically_relative(model_dir), bytes);
  }
}

std::string Sha256(const std::string& bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  std::string text;
  for (const unsigned char byte : digest) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += {kDigits[byte / 16], kDigits[byte % 16]};
  }
  return text;
}

/// A file that this process alone uses.
class LockedFile {
 public:
  explicit LockedFile(const std::filesystem::path& path)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (fd_ < 0 || flock(fd_, LOCK_EX) != 0) {
      throw std::system_error(errno, std::generic_category(), path.string());
    }
  }
  ~LockedFile() { close(fd_); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

 private:
  int fd_;
};

/// Reads a file of Bytes: the number of rows, then for each row its length and values.
ReferenceModel::Rows ReadRows(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  stream.exceptions(std::ios::failbit | std::ios::badbit);
  const auto read = [&](auto* values, std::size_t count) {
    stream.read(reinterpret_cast<char*>(values),
                static_cast<std::streamsize>(count * sizeof(*values)));
  };
  std::uint64_t count = 0;
  read(&count, 1);
  ReferenceModel::Rows rows(count);
  for (std::vector<double>& row : rows) {
    std::uint64_t size = 0;
    read(&size, 1);
    row.resize(size);
    read(row.data(), row.size());
  }
  return rows;
}

}  // namespace

StoredOracle::StoredOracle(const std::filesystem::path& model_dir, reference::Rounding rounding)
    : StoredOracle(model_dir, reference::ReadReferenceConfig(model_dir), rounding) {}

StoredOracle::StoredOracle(std::filesystem::path model_dir, proto::ModelConfig config,
                           reference::Rounding rounding)
    : model_dir_(std::move(model_dir)), config_(std::move(config)), rounding_(rounding) {
  if (const char* store = std::getenv("SCORECAST_ORACLE_STORE")) {
    store_ = store;
    std::filesystem::create_directories(*store_);
    Bytes key;
    AddProgram(key);
    AddWeights(model_dir_, key);
    key.Add(config_, rounding_);
    model_key_ = Sha256(key.bytes());
  }
}

StoredOracle::~StoredOracle() = default;

const ReferenceModel& StoredOracle::Model() const {
  if (model_ == nullptr) {
    model_ = std::make_unique<ReferenceModel>(model_dir_, config_, rounding_);
  }
  return *model_;
}

StoredOracle::Rows StoredOracle::Stored(const std::string& arguments,
                                        const std::function<Rows()>& compute) const {
  if (!store_) {
    return compute();
  }
  const std::filesystem::path path = *store_ / Sha256(model_key_ + arguments);
  const LockedFile lock(path);  // Another job may compute the same now.
  const std::filesystem::path result = path.string() + ".rows";
  if (std::filesystem::exists(result)) {
    return ReadRows(result);
  }
  Rows rows = compute();
  Bytes bytes;
  bytes.Add(rows);
  proto::ReplaceFile(result, bytes.bytes());
  return rows;
}

StoredOracle::Rows StoredOracle::Logits(std::span<const proto::TokenId> tokens,
                                        std::span<const proto::Segment> segments,
                                        std::span<const std::int32_t> rows,
                                        const proto::BlockWeighting& weighting) const {
  Bytes key;
  key.Add(std::string("Logits"), tokens, segments, rows, weighting);
  return Stored(key.bytes(), [&] { return Model().Logits(tokens, segments, rows, weighting); });
}

StoredOracle::Rows StoredOracle::FinalRows(std::span<const proto::TokenId> tokens,
                                           std::span<const proto::Segment> segments,
                                           std::span<const std::int32_t> rows,
                                           const proto::BlockWeighting& weighting,
                                           std::span<const std::uint8_t> types) const {
  Bytes key;
  key.Add(std::string("FinalRows"), tokens, segments, rows, weighting, types);
  return Stored(key.bytes(),
                [&] { return Model().FinalRows(tokens, segments, rows, weighting, types); });
}

}  // namespace scorecast::testing
