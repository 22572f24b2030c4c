#include "shard/model/column_reads.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>

#include "proto/model/partition.h"
#include "shard/checkpoint/read_ahead.h"
#include "shard/checkpoint/weight_file.h"
#include "shard/model/tensors.h"

namespace scorecast::shard {
namespace {

using proto::Range;

/// With less to read, measuring would cost more than it saves.
constexpr std::int64_t kLeastBytes = std::int64_t{64} << 20;

/// Bytes of one read of the sample, and their number on each host. The reads are spread over all of
/// the weights, because a part of them may be in the page cache.
constexpr std::int64_t kReadBytes = std::int64_t{256} << 10;
constexpr std::int64_t kReads = 16;

/// Bytes that each rank sends to measure the network, and before that, because TCP begins slowly.
constexpr std::int64_t kSentBytes = std::int64_t{4} << 20;
constexpr std::int64_t kFirstBytes = std::int64_t{1} << 20;

/// All tensors of ColumnSplits.
std::vector<const TensorView*> AllSplit(const Checkpoint& checkpoint,
                                        const proto::ModelConfig& config, int ranks,
                                        proto::Sharding sharding) {
  std::vector<const TensorView*> tensors;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers(); ++layer) {
    for (const ColumnSplit& split : ColumnSplits(checkpoint, config, layer, ranks, sharding)) {
      tensors.push_back(split.tensor);
    }
  }
  return tensors;
}

/// The part of the tensors' bytes, one after the other, that begins at `at`: it ends with its
/// tensor.
FilePart PartAt(const std::vector<const TensorView*>& tensors, std::int64_t at) {
  for (const TensorView* tensor : tensors) {
    if (at < tensor->bytes) {
      const std::int64_t begin = tensor->offset + at;
      return {tensor->file, {begin, std::min(begin + kReadBytes, tensor->offset + tensor->bytes)}};
    }
    at -= tensor->bytes;
  }
  return {};
}

/// Every k-th read of the sample, for the rank of number `lane` of a host's k ranks.
std::vector<FilePart> Sample(const std::vector<const TensorView*>& tensors, std::int64_t bytes,
                             int lane, int ranks_of_host) {
  std::vector<FilePart> parts;
  for (std::int64_t read = lane; read < kReads; read += ranks_of_host) {
    parts.push_back(PartAt(tensors, bytes * (2 * read + 1) / (2 * kReads)));
  }
  return parts;
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

ColumnChoice FasterReads(const ColumnTimes& times) {
  const bool is_exchanged = times.own_rows + times.messages < times.by_each_rank;
  char reason[200];
  std::snprintf(reason, sizeof(reason),
                "%.1f s as a whole on every host, %.1f s in parts and %.1f s for their messages",
                times.by_each_rank, times.own_rows, times.messages);
  return {is_exchanged ? ColumnReads::kExchanged : ColumnReads::kByEachRank, reason};
}

ColumnChoice ChooseColumnReads(const proto::Communicator& group, const Checkpoint& checkpoint,
                               const proto::ModelConfig& config, proto::Sharding sharding,
                               ColumnExchange& exchange, ThreadPool& pool) {
  const proto::Communicator host = group.OnThisHost();
  const int ranks = group.size();
  if (group.Min(host.size() < ranks ? 1 : 0) == 0) {
    return {};
  }
  const std::vector<const TensorView*> tensors = AllSplit(checkpoint, config, ranks, sharding);
  std::int64_t bytes = 0;
  for (const TensorView* tensor : tensors) {
    bytes += tensor->bytes;
  }
  if (bytes < kLeastBytes) {
    return {};
  }
  double read_seconds = 0;
  proto::StartupPhase(group, [&] {
    const std::vector<FilePart> sample = Sample(tensors, bytes, host.rank(), host.size());
    const auto begin = std::chrono::steady_clock::now();
    ReadParts(sample, pool);
    read_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
  exchange.SecondsToSend(kFirstBytes);
  const double send_seconds = exchange.SecondsToSend(kSentBytes);
  const double samples = static_cast<double>(bytes) / (kReads * kReadBytes);
  const double host_share = static_cast<double>(host.size()) / ranks;
  const double sent = static_cast<double>(bytes) / ranks * (ranks - 1) / ranks;
  return FasterReads({.by_each_rank = Largest(group, read_seconds) * samples,
                      .own_rows = Largest(group, read_seconds * host_share) * samples,
                      .messages = Largest(group, send_seconds) * sent / kSentBytes});
}

}  // namespace scorecast::shard
