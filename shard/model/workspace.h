#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "shard/linear/activations.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// The storage of K/V that is kept between passes: see KvStore.
struct KeptKv {
  std::int64_t layers = 0;
  std::int64_t rows = 0;
};

/// A bidirectional model keeps two layers of the texts that it computes in steps, and others keep
/// all layers of pages.
KeptKv KeptKvOf(const proto::ModelConfig& config, const proto::PlanLimits& limits);

/// Activations of a pass that no other rank sees. One allocation has room for the largest plan, and
/// each pass divides it among the arrays according to its buckets of rows and of reads. h is
/// hidden_size; q and i are the widths of the rank's query heads and its intermediate range. In
/// float32, output_input is `attended` itself if it has one block.
class Workspace {
 public:
  /// Laid out for `limits`.
  Workspace(const proto::ModelConfig& config, const proto::Partition& partition,
            const proto::PlanLimits& limits, Precision precision, int threads);

  /// Gives each array room for a plan of these limits, which are at most the constructor's. The
  /// arrays' contents are lost. The arrays follow each other from the beginning of the allocation.
  /// A plan of these limits therefore uses the first Bytes() bytes, and a plan of lower limits uses
  /// a part of these bytes.
  void LayOut(const proto::PlanLimits& limits);

  /// Touches the bytes that plans of these limits use.
  void Touch(const proto::PlanLimits& limits, ThreadPool& pool);

  static std::int64_t Bytes(const proto::ModelConfig& config, const proto::Partition& partition,
                            const proto::PlanLimits& limits, Precision precision);

  Rows<float> hidden;     ///< [rows, h]: the residual stream; only rows that this rank owns.
  Activations selected;   ///< [rows read, h]: copies of normalised rows.
  Rows<float> queries;    ///< [rows, q]
  Rows<float> attended;   ///< [rows, q]
  Rows<float> activated;  ///< [rows, i]: activation(gate) · up; used in int8 only.
  BlockActivations output_input;  ///< [rows, q], in blocks of heads.
  BlockActivations down_input;    ///< [rows, i], in blocks of the intermediate range.
  Rows<float> thread_row;         ///< [threads, h]

 private:
  struct Shape {
    std::int64_t h = 0;
    std::vector<std::int64_t> q;  // Borders of blocks, the last of which is the width.
    std::vector<std::int64_t> i;  // The same.
    Precision precision = Precision::kFloat32;
    int threads = 1;
  };

  explicit Workspace(Shape shape) : shape_(std::move(shape)) {}
  static Shape ShapeOf(const proto::ModelConfig& config, const proto::Partition& partition,
                       Precision precision, int threads);
  /// Lays the arrays out from `begin` on, and returns their bytes. If `begin` is null, only counts.
  std::int64_t LayOut(const proto::PlanLimits& limits, std::byte* begin);

  Shape shape_;
  AlignedBuffer<std::byte> buffer_;
};

}  // namespace scorecast::shard
