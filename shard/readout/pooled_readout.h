#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "proto/base/range.h"
#include "proto/model/read_head.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/activations.h"
#include "shard/readout/head_steps.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// The readout of a model with a ReadHead. Every rank pools its columns of the rows that are read,
/// in the order of the rows. (If each rank pooled the rows that it owns, the bits would depend on
/// the text's place in the pass.) Rank 0 gathers the columns and computes the head's steps.
///
/// A rank's part is float32 without gaps: [reads][poolings][columns], where a raw read has one
/// pooling. Until the last row of a text is pooled, a mean is the sum of its rows.
class PooledReadout {
 public:
  /// `columns` [ranks] are the columns of each rank. `steps` is null on ranks other than 0.
  PooledReadout(const proto::ReadHead& head, std::vector<proto::Range> columns, int rank,
                const Kernels& kernels, ThreadPool& pool, std::unique_ptr<HeadSteps> steps);

  /// This rank's part. `rows` [rows read, hidden_size] are normalised. row_of [reads] is the index
  /// of each read's last row among them; the read's other rows are those before it.
  std::vector<std::byte> ReadOut(const proto::ForwardPlan& plan,
                                 std::span<const std::int32_t> row_of,
                                 Rows<const float> rows) const;
  /// Bytes of each rank's part: [ranks].
  std::vector<std::size_t> PartBytes(const proto::ForwardPlan& plan) const;
  /// On rank 0: one RowLogits for each read, of the parts of all ranks in rank order. The results
  /// are class logits if the head has classes.
  std::vector<proto::RowLogits> Merge(const proto::ForwardPlan& plan,
                                      std::span<const std::byte> parts, bool has_classes);

 private:
  std::int64_t PoolingsOf(const proto::PlanRead& read) const;
  /// Numbers of a part per column.
  std::int64_t NumbersPerColumn(const proto::ForwardPlan& plan) const;
  /// Pools some columns of a text's rows into `out` [columns]. `before` is what earlier passes have
  /// pooled of these columns, or null.
  void Pool(proto::Pooling pooling, Rows<const float> rows, proto::Range of_text,
            proto::Range columns, const float* before, float* out) const;

  const std::vector<proto::Pooling> pooling_;
  const std::vector<proto::Range> columns_;  // [ranks]
  const int rank_;
  const std::int64_t hidden_size_;
  const Kernels& kernels_;
  ThreadPool& pool_;
  const std::unique_ptr<HeadSteps> steps_;
};

}  // namespace scorecast::shard
