#include "shard/model/column_reads.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iterator>

#include "proto/model/partition.h"
#include "shard/checkpoint/read_ahead.h"
#include "shard/checkpoint/weight_file.h"
#include "shard/model/tensors.h"
#include "shard/model/weight_slices.h"

namespace scorecast::shard {
namespace {

using proto::Range;

/// With less to read, measuring would cost more than it saves.
constexpr std::int64_t kLeastBytes = std::int64_t{64} << 20;

/// Most bytes of one read of the sample, and most reads of the ranks of a host. The reads are
/// spread over all rows that a rank reads in both ways, because a part of them may be in the page
/// cache. Disks may give the first megabytes faster than the others.
constexpr std::int64_t kReadBytes = std::int64_t{1} << 20;
constexpr std::int64_t kReads = 64;

/// Bytes of a checkpoint that a thread is assumed to read from the page cache and pack in a second:
/// `bench/run loading --warm` shows how many it does.
constexpr double kPackedBytes = 400e6;

/// Bytes that each rank sends to measure the network, and before that, because TCP begins slowly.
constexpr std::int64_t kSentBytes = std::int64_t{4} << 20;
constexpr std::int64_t kFirstBytes = std::int64_t{1} << 20;

/// Bytes of all tensors of ColumnSplits, and where the rows lie that this rank reads in both ways.
struct SplitParts {
  std::int64_t bytes = 0;
  std::vector<FilePart> own;
};

SplitParts AllSplits(const Checkpoint& checkpoint, const proto::ModelConfig& config, int rank,
                     int ranks, proto::Sharding sharding) {
  SplitParts parts;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers(); ++layer) {
    for (const ColumnSplit& split : ColumnSplits(checkpoint, config, layer, ranks, sharding)) {
      const TensorView& tensor = *split.tensor;
      parts.bytes += tensor.bytes;
      std::ranges::move(PartsOfBlock(tensor, ColumnExchange::RowsReadBy(tensor, rank, ranks),
                                     {0, tensor.shape[1]}),
                        std::back_inserter(parts.own));
    }
  }
  return parts;
}

std::int64_t BytesOf(const std::vector<FilePart>& parts) {
  std::int64_t bytes = 0;
  for (const FilePart& part : parts) {
    bytes += part.bytes.size();
  }
  return bytes;
}

/// The part of the parts' bytes, one after the other, that begins at `at`: it ends with its part.
FilePart PartAt(const std::vector<FilePart>& parts, std::int64_t at) {
  for (const auto& [file, bytes] : parts) {
    if (at < bytes.size()) {
      const std::int64_t begin = bytes.begin + at;
      return {file, {begin, std::min(begin + kReadBytes, bytes.end)}};
    }
    at -= bytes.size();
  }
  return {};
}

/// A rank's share of the sample: at most half of its parts.
std::vector<FilePart> Sample(const std::vector<FilePart>& parts, int ranks_of_host) {
  const std::int64_t bytes = BytesOf(parts);
  const std::int64_t most = std::max<std::int64_t>(kReads / ranks_of_host, 1);
  const std::int64_t reads = std::clamp<std::int64_t>(bytes / (2 * kReadBytes), 1, most);
  std::vector<FilePart> sample;
  for (std::int64_t read = 0; read < reads; ++read) {
    sample.push_back(PartAt(parts, bytes * (2 * read + 1) / (2 * reads)));
  }
  return sample;
}

/// Reads parts as loading does: they are asked for first.
void ReadParts(const std::vector<FilePart>& parts, ThreadPool& pool) {
  for (const FilePart& part : parts) {
    part.file->Prefetch(part.bytes.begin, part.bytes.size());
  }
  pool.ParallelFor(static_cast<std::int64_t>(parts.size()), [&](std::int64_t i, int) {
    const FilePart& part = parts[static_cast<std::size_t>(i)];
    std::vector<std::byte> bytes(static_cast<std::size_t>(part.bytes.size()));
    part.file->Read(part.bytes.begin, bytes);
  });
}

/// The largest of all ranks' values.
double Largest(const proto::Communicator& group, double mine) {
  double largest = mine;
  for (const std::string& text : group.AllGather(std::to_string(mine))) {
    largest = std::max(largest, std::stod(text));
  }
  return largest;
}

}  // namespace

std::vector<ColumnSplit> ColumnSplits(const Checkpoint& checkpoint,
                                      const proto::ModelConfig& config, std::int64_t layer,
                                      int ranks, proto::Sharding sharding) {
  std::vector<ColumnSplit> splits;
  if (ranks == 1) {
    return splits;
  }
  std::vector<proto::Partition> partitions;
  for (int rank = 0; rank < ranks; ++rank) {
    partitions.push_back(proto::MakePartition(config, rank, ranks, sharding));
  }
  for (const TensorSpec& spec : LayerTensors(config, layer)) {
    if (spec.in != Dim::kQueryHeads && spec.in != Dim::kIntermediate) {
      continue;
    }
    ColumnSplit split = {&Require(checkpoint, spec, config), {}};
    bool is_read_whole = false;
    for (const proto::Partition& partition : partitions) {
      const Range columns = PartOf(spec.in, config, partition);
      is_read_whole = is_read_whole || SkipsNoColumns(*split.tensor, columns);
      split.columns.push_back(columns);
    }
    if (is_read_whole) {
      splits.push_back(std::move(split));
    }
  }
  return splits;
}

ColumnChoice FasterReads(const LoadTimes& times) {
  const double as_a_whole = std::max(times.others + times.by_each_rank, times.packing);
  const double in_parts = std::max(times.others + times.own_rows, times.packing + times.messages);
  char reason[300];
  std::snprintf(reason, sizeof(reason),
                "a host would read its weights in %.1f s if it read these as a whole, and in %.1f "
                "s in parts; messages would take %.1f s, and packing about %.1f s",
                times.others + times.by_each_rank, times.others + times.own_rows, times.messages,
                times.packing);
  return {in_parts < as_a_whole ? ColumnReads::kExchanged : ColumnReads::kByEachRank, reason};
}

ColumnChoice ChooseColumnReads(const proto::Communicator& group, const Checkpoint& checkpoint,
                               const proto::ModelConfig& config, proto::Sharding sharding,
                               ColumnExchange& exchange, ThreadPool& pool) {
  const proto::Communicator host = group.OnThisHost();
  const int ranks = group.size();
  if (group.Min(host.size() < ranks ? 1 : 0) == 0) {
    return {};
  }
  const SplitParts splits = AllSplits(checkpoint, config, group.rank(), ranks, sharding);
  if (splits.bytes < kLeastBytes) {
    return {};
  }
  const std::vector<FilePart> sample = Sample(splits.own, host.size());
  double read_seconds = 0;
  proto::StartupPhase(group, [&] {
    const auto begin = std::chrono::steady_clock::now();
    ReadParts(sample, pool);
    read_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
  exchange.SecondsToSend(kFirstBytes);
  const double send_seconds = exchange.SecondsToSend(kSentBytes);
  // Bytes of this rank: of all weights in parts, and of the rows of these.
  std::int64_t in_parts = 0;
  for (const std::vector<FilePart>& step :
       WeightSlices(checkpoint, config, group.rank(), ranks, ColumnReads::kExchanged, sharding)) {
    in_parts += BytesOf(step);
  }
  const double split = static_cast<double>(splits.bytes);
  const double own_rows = static_cast<double>(BytesOf(splits.own));
  const double others = static_cast<double>(in_parts) - own_rows;
  const double in_host = host.size();
  // All ranks of the host read their shares at the same time.
  const double a_byte = read_seconds / (static_cast<double>(BytesOf(sample)) * in_host);
  return FasterReads(
      {.by_each_rank = Largest(group, a_byte * split),
       .own_rows = Largest(group, a_byte * own_rows * in_host),
       .others = Largest(group, a_byte * others * in_host),
       .messages = Largest(group, send_seconds / kSentBytes * split / ranks * (ranks - 1) / ranks),
       .packing = Largest(group, static_cast<double>(in_parts) / (kPackedBytes * pool.threads()))});
}

}  // namespace scorecast::shard
