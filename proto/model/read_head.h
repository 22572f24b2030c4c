#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace scorecast::proto {

/// How the rows of a text become one. The rows are taken in their order, in float32.
enum class Pooling : std::uint8_t { kCls, kMax, kMean, kLast };

enum class HeadActivation : std::uint8_t {
  kIdentity,
  kTanh,
  kRelu,
  kGelu,      ///< By the error function.
  kGeluTanh,  ///< GELU in its tanh approximation.
  kSilu,
  kSigmoid,
};

/// One step of a head: y = activation(W x + b), then LayerNorm if `norm` is not empty. A step
/// without a `weight` is a LayerNorm alone. The name of a tensor that the step does not have is
/// empty.
struct HeadStep {
  std::string weight;     ///< Name of the tensor [out_features, in].
  std::string bias;       ///< Name of the tensor [out_features].
  std::string norm;       ///< Name of a LayerNorm's weight [out_features].
  std::string norm_bias;  ///< Name of the LayerNorm's bias [out_features].
  HeadActivation activation = HeadActivation::kIdentity;
  std::int64_t out_features = 0;
  /// The file of the tensors, relative to the model's directory, e.g. 2_Dense/model.safetensors.
  /// Empty: the model's own weights.
  std::filesystem::path file;
  double norm_eps = 1e-5;

  bool operator==(const HeadStep&) const = default;
};

/// What becomes of the final, normalised rows of a text: they are pooled; the steps are applied to
/// the pooled row; the result is divided by the temperature, normalised and cut to its size.
struct ReadHead {
  std::vector<Pooling> pooling;  ///< Several: their rows are concatenated in this order.
  std::vector<HeadStep> steps;
  bool normalize = false;  ///< To the L2 norm 1.
  double temperature = 1;
  std::int64_t output_size = 0;  ///< Values of the result: the first ones, if there are more.

  /// Whether the last step is a module of sentence-transformers. Otherwise the steps, if there are
  /// any, are the head of the model's architecture.
  bool ends_with_module() const { return !steps.empty() && !steps.back().file.empty(); }

  bool operator==(const ReadHead&) const = default;
};

/// Which rows of a text a pooling needs.
enum class PooledRows : std::uint8_t { kFirst, kLast, kAll };

PooledRows RowsPooledBy(const std::vector<Pooling>& pooling);

/// The head in one line, e.g. "mean pooling, dense to 24, tanh, normalised: 24 values".
std::string Describe(const ReadHead& head);

}  // namespace scorecast::proto
