#include "coordinator/schedule/queue/job_size.h"

#include <cstddef>
#include <unordered_set>
#include <utility>

#include "coordinator/schedule/queue/active_job.h"
#include "proto/base/digest.h"

namespace scorecast::coordinator {
namespace {

using proto::TokenId;

template <typename T>
std::int64_t BytesOf(const std::vector<T>& list) {
  return static_cast<std::int64_t>(list.capacity() * sizeof(T));
}

/// About what a completion takes before it has tokens: its generator, and its part of a run.
constexpr std::int64_t kCompletionBytes = 2048;

}  // namespace

JobSize SizeOf(std::span<const proto::PackedSequence> sequences, std::size_t completions) {
  JobSize size = {.bytes = static_cast<std::int64_t>(completions) * kCompletionBytes};
  std::unordered_set<const void*> counted;
  for (const proto::PackedSequence& sequence : sequences) {
    size.tokens += static_cast<std::int64_t>(sequence.tokens.size());
    size.bytes += static_cast<std::int64_t>(sizeof(proto::PackedSequence) + sizeof(ActiveSequence) +
                                            sizeof(SequenceRef)) +
                  BytesOf(sequence.tokens) + BytesOf(sequence.token_types) +
                  BytesOf(sequence.segments) + BytesOf(sequence.reads) +
                  BytesOf(sequence.label_lists);
    const auto& shared = sequence.shared.list;
    if (shared != nullptr && counted.insert(shared.get()).second) {
      size.tokens += static_cast<std::int64_t>(shared->size());
      size.bytes += BytesOf(*shared);
    }
    for (const proto::LabelList& labels : sequence.label_lists) {
      if (counted.insert(labels.identity()).second) {
        size.bytes += BytesOf(labels.ids());
      }
    }
  }
  return size;
}

std::uint64_t DigestOf(std::span<const proto::PackedSequence> sequences) {
  proto::Digest digest;
  const std::vector<TokenId>* shared = nullptr;
  for (const proto::PackedSequence& sequence : sequences) {
    digest.Add(std::as_bytes(std::span(sequence.tokens)));
    digest.Add(std::as_bytes(std::span(sequence.token_types)));
    if (std::exchange(shared, sequence.shared.list.get()) != sequence.shared.list.get()) {
      digest.Add(std::as_bytes(sequence.shared.ids()));
    }
  }
  return digest.value();
}

std::int64_t RowsBytes(const std::vector<proto::RowLogits>& rows) {
  std::int64_t bytes = BytesOf(rows);
  for (const proto::RowLogits& row : rows) {
    bytes += BytesOf(row.label_logits) + BytesOf(row.top) + BytesOf(row.embedding);
  }
  return bytes;
}

}  // namespace scorecast::coordinator
