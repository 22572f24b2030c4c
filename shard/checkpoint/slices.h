#pragma once

#include <cstdint>

#include "proto/model/partition.h"
#include "shard/checkpoint/tensor_view.h"

namespace scorecast::shard {

/// Parts of a mapped tensor as float32, exactly: F16 and BF16 are subsets of it (NaN stays NaN).
/// Only the bytes of the part are touched. A part outside the tensor is a broken invariant: callers
/// have held the tensor to the shape that they expect (Checkpoint::Require).

/// Rows of a tensor [rows, …], all but the first dimension taken as one: `out` is
/// [rows.size(), columns]. One row is as cheap as its conversion.
void ReadRows(const TensorView& tensor, proto::Range rows, float* out);

/// A block of a tensor [rows, columns]: `out` is [rows.size(), cols.size()], its rows `out_stride`
/// floats apart.
void ReadBlock(const TensorView& tensor, proto::Range rows, proto::Range cols, float* out,
               std::int64_t out_stride);

}  // namespace scorecast::shard
