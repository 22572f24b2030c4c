#pragma once

#include <cstdint>

#include "shard/checkpoint/safetensors.h"
#include "shard/checkpoint/weight_file.h"

namespace scorecast::shard {

/// A digest of a file's header and of samples of every tensor: all bytes of a small tensor; the
/// first bytes, the last bytes and some in the middle of a large one. Two copies of a model have
/// the same digest. Two models almost certainly have different digests, because training changes
/// numbers everywhere.
std::uint64_t DigestOfSamples(const WeightFile& file, const SafetensorsHeader& header);

/// Tells the system which bytes DigestOfSamples will read, so that the system can read them all at
/// the same time.
void PrefetchSamples(const WeightFile& file, const SafetensorsHeader& header);

}  // namespace scorecast::shard
