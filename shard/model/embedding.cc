#include "shard/model/embedding.h"

#include <algorithm>

#include "proto/base/check.h"
#include "shard/model/tensors.h"

namespace scorecast::shard {
namespace {

/// Null if the model has no such table.
const TensorView* Table(const Checkpoint& checkpoint, const proto::ModelConfig& config,
                        TensorRole role) {
  const std::vector<TensorSpec> tensors = ModelTensors(config);
  const TensorSpec* tensor = FindTensor(tensors, role);
  return tensor == nullptr ? nullptr : &Require(checkpoint, *tensor, config);
}

/// The values of a tensor that every model of the kind has.
std::vector<float> Load(const Checkpoint& checkpoint, const proto::ModelConfig& config,
                        TensorRole role) {
  const TensorView* tensor = Table(checkpoint, config, role);
  proto::Check(tensor != nullptr, "the model has the tensor");
  std::vector<float> values(static_cast<std::size_t>(tensor->num_elements()));
  ReadRows(*tensor, {0, tensor->shape[0]}, values.data());
  return values;
}

const TensorView& TokenTable(const Checkpoint& checkpoint, const proto::ModelConfig& config) {
  const TensorView* table = Table(checkpoint, config, TensorRole::kEmbedding);
  proto::Check(table != nullptr, "every model has embeddings of tokens");
  return *table;
}

/// The page at which the text of a step begins.
std::size_t PageOfText(const proto::ForwardPlan& step) {
  return static_cast<std::size_t>(step.sequences.front().segments.front().kv.first /
                                  proto::kKvPageRows);
}

}  // namespace

Embedding::Embedding(const proto::ModelConfig& config, const Checkpoint& checkpoint,
                     const Kernels& kernels, const proto::PlanLimits& limits)
    : config_(config),
      kernels_(kernels),
      tokens_(TokenTable(checkpoint, config)),
      positions_(Table(checkpoint, config, TensorRole::kPositionTable)),
      types_(Table(checkpoint, config, TensorRole::kTypeTable)),
      size_(SizeOf(Dim::kEmbedding, config)),
      norm_(LoadNorm(checkpoint, config, ModelTensors(config), TensorRole::kEmbeddingNorm,
                     TensorRole::kEmbeddingNormBias)),
      projection_(LoadProjection(checkpoint, config)) {
  if (positions_ != nullptr) {
    learned_positions_.reserve(static_cast<std::size_t>(limits.max_rows));
    next_in_text_.resize(static_cast<std::size_t>(limits.text_rows / proto::kKvPageRows));
  }
}

void Embedding::Begin(const proto::ForwardPlan& plan, const RowMap& rows) {
  plan_ = &plan;
  proto::Check(plan.token_types.empty() || plan.token_types.size() == plan.tokens.size(),
               "a plan has a type for every token or for none");
  learned_positions_.clear();
  if (positions_ == nullptr) {
    return;
  }
  const std::optional<proto::TokenId> padding = config_.learned_positions->padding;
  std::int32_t* const of_text = plan.step ? &next_in_text_.at(PageOfText(plan)) : nullptr;
  std::int32_t next = of_text == nullptr ? 0 : *of_text;
  for (std::size_t row = 0; row < rows.rows().size(); ++row) {
    const RowPlace& place = rows.rows()[row];
    if (!padding) {
      learned_positions_.push_back(place.position);
      continue;
    }
    // The rows of a text count those before them that are no padding, so they come together.
    if (place.row_in_segment == 0) {
      next = *padding + 1 + place.position;
    }
    learned_positions_.push_back(plan.tokens[row] == *padding ? *padding : next++);
  }
  if (of_text != nullptr) {
    *of_text = next;
  }
}

std::optional<Embedding::Projection> Embedding::LoadProjection(const Checkpoint& checkpoint,
                                                               const proto::ModelConfig& config) {
  if (!config.embedding_size) {
    return std::nullopt;
  }
  return Projection{.weight = Load(checkpoint, config, TensorRole::kEmbeddingProjection),
                    .bias = Load(checkpoint, config, TensorRole::kEmbeddingProjectionBias)};
}

void Embedding::Embed(std::int64_t row, float* scratch, float* hidden) const {
  const auto at = static_cast<std::size_t>(row);
  float* const embedding = projection_ ? scratch : hidden;
  const proto::TokenId id = plan_->tokens[at];
  ReadRows(tokens_, {id, id + 1}, embedding);
  if (config_.embedding_scale != 1) {
    const auto scale = static_cast<float>(config_.embedding_scale);
    std::transform(embedding, embedding + size_, embedding, [scale](float x) { return scale * x; });
  }
  if (types_ != nullptr) {
    AddRow(*types_, plan_->token_types.empty() ? 0 : plan_->token_types[at], embedding);
  }
  if (positions_ != nullptr) {
    AddRow(*positions_, learned_positions_[at], embedding);
  }
  if (!norm_.empty()) {
    RowNorm(kernels_, config_)(embedding, norm_, embedding);
  }
  if (projection_) {
    const float* weights = projection_->weight.data();
    for (const float bias : projection_->bias) {
      *hidden++ = kernels_.dot(embedding, weights, size_) + bias;
      weights += size_;
    }
  }
}

void Embedding::AddRow(const TensorView& table, std::int64_t row, float* embedding) const {
  // Read in parts, so that no thread needs a buffer of its own.
  constexpr std::int64_t kPart = 512;
  float part[kPart];
  for (std::int64_t begin = 0; begin < size_; begin += kPart) {
    const std::int64_t end = std::min(size_, begin + kPart);
    ReadBlock(table, {row, row + 1}, {begin, end}, part, end - begin);
    kernels_.add(part, end - begin, embedding + begin);
  }
}

std::vector<const WeightFile*> Embedding::Files() const {
  std::vector<const WeightFile*> files = {tokens_.file};
  for (const TensorView* table : {positions_, types_}) {
    if (table != nullptr && std::ranges::find(files, table->file) == files.end()) {
      files.push_back(table->file);
    }
  }
  return files;
}

}  // namespace scorecast::shard
