#pragma once

#include <cstdint>

#include "shard/checkpoint/safetensors.h"
#include "shard/checkpoint/weight_file.h"

namespace scorecast::shard {

/// A digest of a file's header and of bytes of every tensor: of all bytes of a small one, else of
/// its first bytes, its last and some in the middle. Two copies of a model have the same digest.
/// Two models almost certainly have different ones, because training changes numbers everywhere.
std::uint64_t DigestOfSamples(const WeightFile& file, const SafetensorsHeader& header);

/// Tells the system which bytes DigestOfSamples will read, so that it reads them at the same time.
void PrefetchSamples(const WeightFile& file, const SafetensorsHeader& header);

}  // namespace scorecast::shard
