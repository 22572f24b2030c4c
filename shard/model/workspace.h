#pragma once

#include <cstddef>
#include <cstdint>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "shard/linear/activations.h"
#include "shard/runtime/aligned_buffer.h"

namespace scorecast::shard {

/// Activations of the largest plan that no other rank sees. A smaller plan uses their first rows.
/// h is hidden_size; q and i are the widths of the rank's query heads and its intermediate range.
/// In float32, output_input and down_input are attended and activated themselves, not copies.
class Workspace {
 public:
  Workspace(const proto::ModelConfig& config, const proto::Partition& partition,
            const proto::PlanLimits& limits, Precision precision, int threads);

  static std::int64_t Bytes(const proto::ModelConfig& config, const proto::Partition& partition,
                            const proto::PlanLimits& limits, Precision precision);

  Rows<float> hidden;        ///< [rows, h]: the residual stream; only rows that this rank owns.
  Rows<float> queries;       ///< [rows, q]
  Rows<float> attended;      ///< [rows, q]
  Rows<float> activated;     ///< [rows, i]: silu(gate) · up; not used in bfloat16.
  Activations selected;      ///< [rows read, h]: copies of normalised rows.
  Activations output_input;  ///< [rows, q]
  Activations down_input;    ///< [rows, i]
  Rows<float> thread_row;    ///< [threads, h]

 private:
  Workspace() = default;

  AlignedBuffer<std::byte> buffer_;
};

}  // namespace scorecast::shard
