#pragma once

#include <cstdint>

#include "proto/model/partition.h"
#include "shard/checkpoint/tensor_view.h"

namespace scorecast::shard {

/// Parts of a tensor as float32. The conversion is exact, because F16 and BF16 are subsets of it
/// (NaN stays NaN). Only the bytes of the part are read, by any number of threads. Throws
/// FileChanged as WeightFile::Read does. A part outside of the tensor is a broken invariant:
/// callers have checked the tensor's shape (Checkpoint::Require).

/// Reads rows of a tensor [rows, …], whose other dimensions count as one: `out` is [rows.size(),
/// columns].
void ReadRows(const TensorView& tensor, proto::Range rows, float* out);

/// Reads a block of a tensor [rows, columns]: `out` is [rows.size(), cols.size()], with rows
/// `out_stride` floats apart.
void ReadBlock(const TensorView& tensor, proto::Range rows, proto::Range cols, float* out,
               std::int64_t out_stride);

}  // namespace scorecast::shard
