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

/// Most bytes of one read of a sample, and most reads of the ranks of a host. The reads are spread
/// over all layers, because a part of them may be in the page cache. Disks may give the first
/// megabytes faster than the others.
constexpr std::int64_t kReadBytes = std::int64_t{1} << 20;
constexpr std::int64_t kReads = 32;

/// Bytes of a checkpoint that a thread is assumed to read from the page cache and pack in a second:
/// `bench/run loading --warm` shows how many it does.
constexpr double kPackedBytes = 400e6;

/// Bytes that each rank sends to measure the network, and before that, because TCP begins slowly.
constexpr std::int64_t kSentBytes = std::int64_t{4} << 20;
constexpr std::int64_t kFirstBytes = std::int64_t{1} << 20;

/// The rows of all ColumnSplits: `own` are those that this rank reads in both ways.
struct SplitParts {
  std::vector<FilePart> own;
  std::vector<FilePart> others;
};

SplitParts AllSplits(const Checkpoint& checkpoint, const proto::ModelConfig& config, int rank,
                     int ranks, proto::Sharding sharding) {
  SplitParts parts;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers(); ++layer) {
    for (const ColumnSplit& split : ColumnSplits(checkpoint, config, layer, ranks, sharding)) {
      const TensorView& tensor = *split.tensor;
      const auto add = [&](Range rows, std::vector<FilePart>& to) {
        if (rows.size() > 0) {
          std::ranges::move(PartsOfBlock(tensor, rows, {0, tensor.shape[1]}),
                            std::back_inserter(to));
        }
      };
      const Range own = ColumnExchange::RowsReadBy(tensor, rank, ranks);
      add(own, parts.own);
      add({0, own.begin}, parts.others);
      add({own.end, tensor.shape[0]}, parts.others);
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

/// A rank's share of a sample of the parts, in which no byte is read twice.
std::vector<FilePart> Sample(const std::vector<FilePart>& parts, int ranks_of_host) {
  const std::int64_t bytes = BytesOf(parts);
  const std::int64_t most = std::max<std::int64_t>(kReads / ranks_of_host, 1);
  const std::int64_t reads = std::min(bytes / kReadBytes, most);
  std::vector<FilePart> sample;
  for (std::int64_t read = 0; read < reads; ++read) {
    sample.push_back(PartAt(parts, bytes * read / reads));
  }
  return sample;
}

/// How long a host takes for each byte of such parts, if all its ranks read at the same time.
/// Reads a sample as loading does: its parts are asked for first.
double SecondsPerByte(const std::vector<FilePart>& parts, int ranks_of_host, ThreadPool& pool) {
  const std::vector<FilePart> sample = Sample(parts, ranks_of_host);
  if (sample.empty()) {
    return 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  for (const FilePart& part : sample) {
    part.file->Prefetch(part.bytes.begin, part.bytes.size());
  }
  pool.ParallelFor(static_cast<std::int64_t>(sample.size()), [&](std::int64_t i, int) {
    const FilePart& part = sample[static_cast<std::size_t>(i)];
    std::vector<std::byte> bytes(static_cast<std::size_t>(part.bytes.size()));
    part.file->Read(part.bytes.begin, bytes);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return seconds.count() / (static_cast<double>(BytesOf(sample)) * ranks_of_host);
}

/// The largest of all ranks' values, with the same bits on every rank.
double Largest(const proto::Communicator& group, double mine) {
  double largest = 0;
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
  const std::int64_t own_bytes = BytesOf(splits.own);
  const std::int64_t all_bytes = own_bytes + BytesOf(splits.others);
  if (all_bytes < kLeastBytes) {
    return {};
  }
  // The rows that this rank has read before may be in the page cache without the others.
  double own_rate = 0;
  double others_rate = 0;
  proto::StartupPhase(group, [&] {
    own_rate = SecondsPerByte(splits.own, host.size(), pool);
    others_rate = SecondsPerByte(splits.others, host.size(), pool);
  });
  exchange.SecondsToSend(kFirstBytes);
  const double send_rate = exchange.SecondsToSend(kSentBytes) / kSentBytes;
  // What this rank reads of the whole model, in parts.
  std::int64_t rank_bytes = 0;
  for (const std::vector<FilePart>& step :
       WeightSlices(checkpoint, config, group.rank(), ranks, ColumnReads::kExchanged, sharding)) {
    rank_bytes += BytesOf(step);
  }
  // Bytes of the host, which reads weights only once if its ranks read them as a whole.
  const auto own = static_cast<double>(own_bytes * host.size());
  const auto rest = std::max(static_cast<double>(all_bytes) - own, 0.0);
  const auto other_weights = static_cast<double>((rank_bytes - own_bytes) * host.size());
  const double sent = static_cast<double>(all_bytes) / ranks * (ranks - 1) / ranks;
  const double packing = static_cast<double>(rank_bytes) / (kPackedBytes * pool.threads());
  return FasterReads({.by_each_rank = Largest(group, own * own_rate + rest * others_rate),
                      .own_rows = Largest(group, own * own_rate),
                      .others = Largest(group, other_weights * own_rate),
                      .messages = Largest(group, sent * send_rate),
                      .packing = Largest(group, packing)});
}

}  // namespace scorecast::shard
