#include "tests/coordinator/fake_cluster.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "proto/base/check.h"
#include "tests/proto/plan/chain_begin.h"
#include "tests/proto/plan/row_reads.h"
#include "tests/reference/dense_mask.h"

namespace scorecast::coordinator {
namespace {

using proto::Check;
using proto::ForwardPlan;
using proto::KvRows;
using proto::PackedSequence;
using proto::PlanRead;
using proto::PlanSegment;
using proto::PlanSequence;
using proto::RowLogits;
using proto::RowRead;
using proto::TokenId;

std::uint64_t Mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A hash of the rows that a row sees, in order.
class Digest {
 public:
  void See(std::int32_t position, TokenId token) {
    value_ =
        Mix(value_ ^ Mix((static_cast<std::uint64_t>(static_cast<std::uint32_t>(position)) << 32) |
                         static_cast<std::uint32_t>(token)));
  }
  /// A number in [-8, 8).
  float Logit(TokenId id) const {
    const std::uint64_t bits = Mix(value_ + static_cast<std::uint32_t>(id)) >> 40;
    return static_cast<float>(bits) / static_cast<float>(1 << 20) - 8.0F;
  }

 private:
  std::uint64_t value_ = 1;
};

/// `read` is a RowRead or a PlanRead.
template <typename Read>
RowLogits ReadRow(const Digest& digest, const proto::LabelList& labels, const Read& read,
                  std::int64_t vocab_size) {
  if (!read.normalizer) {
    RowLogits row;
    for (const TokenId id : labels) {
      row.label_logits.push_back(digest.Logit(id));
    }
    return row;
  }
  std::vector<float> logits;
  for (TokenId id = 0; id < vocab_size; ++id) {
    logits.push_back(digest.Logit(id));
  }
  return proto::ReadRow(logits, read, labels);
}

/// The segment that a computed row belongs to.
struct Owner {
  const PlanSequence* sequence = nullptr;
  std::size_t segment = 0;
  std::int32_t row = 0;  ///< Within the segment.
};

std::vector<Owner> Owners(const ForwardPlan& plan) {
  std::vector<Owner> owners;
  for (const PlanSequence& sequence : plan.sequences) {
    for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
      const PlanSegment& segment = sequence.segments[i];
      for (std::int32_t row = segment.compute_begin; row < segment.compute_end; ++row) {
        owners.push_back({&sequence, i, row});
      }
    }
  }
  return owners;
}

}  // namespace

FakeCluster::FakeCluster(const proto::PlanLimits& limits, std::int64_t vocab_size,
                         Computes computes)
    : limits_(limits),
      vocab_size_(vocab_size),
      kept_(static_cast<std::size_t>(limits.kept_kv_rows)) {
  if (computes == Computes::kOnOwnThread) {
    thread_ = std::thread([this] { Loop(); });
  }
}

proto::ClusterStatus FakeCluster::Status() const {
  const std::lock_guard lock(mutex_);
  proto::ClusterStatus status;
  status.passes_done = plans_done_;
  status.ranks.push_back({.host = "fake", .state = proto::RankState::kIdle, .pass = plans_done_});
  return status;
}

FakeCluster::~FakeCluster() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void FakeCluster::Submit(ForwardPlan plan, PlanDone done) {
  const std::lock_guard lock(mutex_);
  plans_.push_back(plan);
  queue_.emplace_back(std::move(plan), std::move(done));
  changed_.notify_all();
}

void FakeCluster::ParallelFor(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      task(i);
    }
  };
  if (count < 2) {
    run(0, count);
    return;
  }
  const std::jthread other([&] { run(count / 2, count); });
  run(0, count / 2);
}

void FakeCluster::Hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void FakeCluster::HoldAfter(std::uint64_t plans) {
  const std::lock_guard lock(mutex_);
  hold_at_ = plans_done_ + plans;
}

void FakeCluster::Release() {
  const std::lock_guard lock(mutex_);
  hold_at_.reset();
  held_ = false;
  changed_.notify_all();
}

void FakeCluster::BreakToken(TokenId token) {
  const std::lock_guard lock(mutex_);
  broken_token_ = token;
}

std::vector<ForwardPlan> FakeCluster::plans() const {
  const std::lock_guard lock(mutex_);
  return plans_;
}

void FakeCluster::ForgetPlans() {
  const std::lock_guard lock(mutex_);
  plans_.clear();
}

std::optional<ForwardPlan> FakeCluster::next() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() ? std::nullopt : std::optional(queue_.front().first);
}

void FakeCluster::ComputeNext() {
  std::unique_lock lock(mutex_);
  Check(!queue_.empty(), "a plan was submitted");
  ComputeFirst(lock);
}

void FakeCluster::ComputeFirst(std::unique_lock<std::mutex>& lock) {
  auto [plan, done] = std::move(queue_.front());
  queue_.pop_front();
  const auto broken_token = broken_token_;
  lock.unlock();
  std::vector<RowLogits> rows = Compute(plan);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (plan.tokens[static_cast<std::size_t>(plan.reads[i].row)] == broken_token) {
      std::fill(rows[i].label_logits.begin(), rows[i].label_logits.end(),
                std::numeric_limits<float>::quiet_NaN());
      rows[i].sum_exp = std::numeric_limits<double>::quiet_NaN();
    }
  }
  done(std::move(rows));
  lock.lock();
  ++plans_done_;
  held_ = held_ || plans_done_ == hold_at_;
}

void FakeCluster::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || (!held_ && !queue_.empty()); });
    if (stopping_) {
      return;
    }
    ComputeFirst(lock);
  }
}

void FakeCluster::CheckKept(std::int32_t first, std::int32_t rows) const {
  Check(first % proto::kKvPageRows == 0 && rows <= proto::kKvPageRows, "kept rows are a page's");
  Check(0 <= first && first + proto::kKvPageRows <= limits_.kept_kv_rows, "kept rows exist");
}

void FakeCluster::CheckPlan(const ForwardPlan& plan) const {
  const auto rows = static_cast<std::int64_t>(plan.tokens.size());
  const auto reads = static_cast<std::int64_t>(plan.reads.size());
  Check(0 < rows && rows <= limits_.max_rows, "max_rows");
  Check(reads <= limits_.max_reads, "max_reads");
  Check(proto::LogitBytes(plan, limits_) <= limits_.max_logit_bytes, "max_logit_bytes");
  Check(plan.bucket == proto::TokenBucket(rows), "bucket");
  Check(plan.read_bucket == proto::TokenBucket(reads), "read_bucket");
  for (const TokenId token : plan.tokens) {
    Check(0 <= token && token < vocab_size_, "token in vocabulary");
  }
  for (const PlanRead& read : plan.reads) {
    Check(0 <= read.row && read.row < rows, "read of a computed row");
    Check(0 <= read.label_list &&
              read.label_list < static_cast<std::int64_t>(plan.label_lists.size()),
          "label list");
    Check(read.normalizer ||
              (read.top_k == 0 && !read.draw && read.temperature == 1 && read.target < 0 &&
               !read.excludes_labels && read.bin_width == 0 && read.masses.places.empty()),
          "top_k, draw, temperature, target and the exclusion of labels need the normalizer");
    Check(!read.ranks_target || read.target >= 0, "a rank needs a target");
    Check(!read.draw || (0 < read.draw->count && read.draw->count <= proto::Draw::kMostTokens),
          "count of drawn tokens");
    Check(read.masses.places.size() <= proto::PlaceMasses::kMostPlaces, "count of places");
    Check(read.top_k <= vocab_size_ && read.target < vocab_size_, "tokens in vocabulary");
  }
  std::vector<bool> kept_written(static_cast<std::size_t>(limits_.kept_kv_rows));
  std::vector<bool> pass_written(static_cast<std::size_t>(limits_.pass_kv_rows));
  for (const proto::KvCopy& copy : plan.copies) {
    Check(0 < copy.rows, "rows of a copy");
    for (const std::int32_t first : {copy.from, copy.to}) {
      CheckKept(first, copy.rows);
    }
    for (std::int32_t row = 0; row < copy.rows; ++row) {
      Check(!kept_written[static_cast<std::size_t>(copy.to + row)], "copies overlap");
      kept_written[static_cast<std::size_t>(copy.to + row)] = true;
    }
  }
  for (const proto::KvCopy& copy : plan.copies) {
    for (std::int32_t row = 0; row < KvRows(copy.rows); ++row) {
      Check(!kept_written[static_cast<std::size_t>(copy.from + row)], "copies of copies");
    }
  }
  std::int64_t computed = 0;
  for (const PlanSequence& sequence : plan.sequences) {
    for (const PlanSegment& segment : sequence.segments) {
      Check(0 <= segment.compute_begin && segment.compute_begin <= segment.stored &&
                segment.stored <= segment.compute_end,
            "rows");
      Check(segment.compute_end > 0, "no empty segment");
      Check(segment.kv.kept || segment.stored == 0, "only kept rows are stored by earlier passes");
      Check(segment.kv.first % proto::kKvGranule == 0, "place");
      if (segment.kv.kept) {
        CheckKept(segment.kv.first, segment.compute_end);
      }
      computed += segment.computed();
      std::vector<bool>& written = segment.kv.kept ? kept_written : pass_written;
      const std::int32_t end = segment.kv.first + KvRows(segment.compute_end);
      Check(0 <= segment.kv.first && end <= static_cast<std::int64_t>(written.size()),
            "a segment lies in the K/V rows");
      for (std::int32_t i = segment.kv.first + segment.stored; i < end; ++i) {
        Check(segment.stored == segment.compute_end || !written[static_cast<std::size_t>(i)],
              "two segments write the same K/V places");
        if (segment.stored < segment.compute_end) {
          written[static_cast<std::size_t>(i)] = true;
        }
      }
    }
    Check(!sequence.segments.empty() && !sequence.segments.front().continues, "segments");
  }
  Check(computed == rows, "computed rows add up");
}

std::vector<RowLogits> FakeCluster::Compute(const ForwardPlan& plan) {
  CheckPlan(plan);
  Store pass(static_cast<std::size_t>(limits_.pass_kv_rows));
  const auto place = [&](const PlanSegment& segment, std::int32_t row) -> StoredRow& {
    return (segment.kv.kept ? kept_ : pass)[static_cast<std::size_t>(segment.kv.first + row)];
  };
  for (const proto::KvCopy& copy : plan.copies) {
    std::copy_n(kept_.begin() + copy.from, copy.rows, kept_.begin() + copy.to);
  }
  const std::vector<Owner> owners = Owners(plan);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const PlanSegment& segment = owners[i].sequence->segments[owners[i].segment];
    if (owners[i].row >= segment.stored) {
      place(segment, owners[i].row) = {segment.first_position + owners[i].row, plan.tokens[i]};
    }
  }
  std::vector<RowLogits> results;
  for (const PlanRead& read : plan.reads) {
    const Owner& owner = owners[static_cast<std::size_t>(read.row)];
    const auto& segments = owner.sequence->segments;
    Digest digest;
    const auto see = [&](const PlanSegment& segment, std::int32_t rows) {
      for (std::int32_t row = 0; row < rows; ++row) {
        const StoredRow& stored = place(segment, row);
        Check(stored.position == segment.first_position + row, "K/V that is read was stored");
        digest.See(stored.position, stored.token);
      }
    };
    for (std::size_t i = 0; i < owner.segment; ++i) {
      if (i >= proto::ChainBegin(segments, owner.segment) ||
          proto::Sees(segments[owner.segment].kind, segments[i].kind)) {
        see(segments[i], segments[i].compute_end);
      }
    }
    see(segments[owner.segment], owner.row + 1);
    Check(place(segments[owner.segment], owner.row).token ==
              plan.tokens[static_cast<std::size_t>(read.row)],
          "a row that is computed again has the token that was stored");
    results.push_back(ReadRow(digest, plan.label_lists[static_cast<std::size_t>(read.label_list)],
                              read, vocab_size_));
  }
  return results;
}

RowLogits ExpectedRow(const PackedSequence& sequence, const RowRead& read,
                      std::int64_t vocab_size) {
  std::vector<std::size_t> segment_of_row;
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    segment_of_row.insert(segment_of_row.end(),
                          static_cast<std::size_t>(sequence.segments[i].length), i);
  }
  const std::vector<std::int32_t> positions = reference::RowPositions(sequence.segments);
  const auto row = static_cast<std::size_t>(read.row);
  const std::size_t own = segment_of_row[row];
  const std::size_t chain = proto::ChainBegin(sequence.segments, own);
  const std::vector<TokenId> tokens = sequence.AllTokens();
  Digest digest;
  for (std::size_t key = 0; key <= row; ++key) {
    const std::size_t segment = segment_of_row[key];
    if (segment >= chain ||
        proto::Sees(sequence.segments[own].kind, sequence.segments[segment].kind)) {
      digest.See(positions[key], tokens[key]);
    }
  }
  static const proto::LabelList kNone;
  return ReadRow(digest,
                 sequence.label_lists.empty()
                     ? kNone
                     : sequence.label_lists[static_cast<std::size_t>(read.label_list)],
                 read, vocab_size);
}

}  // namespace scorecast::coordinator
