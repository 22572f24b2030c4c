#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proto/model/read_head.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/kernels/kernels.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// A tensor of a head's steps.
struct StepTensor {
  std::string name;  ///< In the checkpoint: see OpenCheckpoint.
  std::vector<std::int64_t> shape;
};

/// The tensors of the head's steps, of which the first one gets `values` numbers.
std::vector<StepTensor> StepTensors(const proto::ReadHead& head, std::int64_t values);

/// The name in the checkpoint of a step's tensor.
std::string StepTensorName(const proto::HeadStep& step, const std::string& tensor);

/// The steps of a ReadHead behind its pooling, in float32. A text's result depends on that text
/// alone.
class HeadSteps {
 public:
  /// Reads the steps' weights, which it holds as float32. The first step gets `values` numbers of
  /// each text. StartupError if a tensor is missing or has another shape.
  HeadSteps(const proto::ReadHead& head, std::int64_t values, const Checkpoint& checkpoint,
            const Kernels& kernels, ThreadPool& pool);

  /// A text's pooled row [values], which its result [output_size] replaces.
  struct Text {
    std::vector<float>* row = nullptr;
    bool keeps_length = false;  ///< The result is not normalised.
  };
  void Apply(std::span<const Text> texts);

 private:
  struct Step {
    proto::HeadActivation activation;
    double norm_eps;
    std::int64_t in;
    std::int64_t out;
    std::vector<float> weight;     // [out, in], or empty: no product
    std::vector<float> bias;       // [out], or empty
    std::vector<float> norm;       // [out], or empty
    std::vector<float> norm_bias;  // [out], or empty
  };

  /// Each text's row x becomes activation(W x + b).
  void Multiply(const Step& step, std::span<const Text> texts);

  const Kernels& kernels_;
  ThreadPool& pool_;
  const std::size_t output_size_;
  const bool normalize_;
  const double temperature_;
  std::vector<Step> steps_;
  std::vector<std::vector<float>> outputs_;  // [texts][out]; swapped with the texts' rows.
};

}  // namespace scorecast::shard
