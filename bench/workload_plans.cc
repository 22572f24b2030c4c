#include "bench/workload_plans.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "coordinator/prompts/sequence_layout.h"
#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pass/pass_builder.h"
#include "coordinator/schedule/pass/sequence_run.h"
#include "proto/base/check.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::bench {
namespace {

using proto::ForwardPlan;
using proto::PackedSequence;
using proto::TokenId;

/// Tokens spread over every shape's vocabulary, so that the log-probabilities of a pass are enough
/// for a percentile.
std::vector<TokenId> Labels() {
  constexpr TokenId kLabels = 64;
  std::vector<TokenId> labels;
  for (TokenId i = 0; i < kLabels; ++i) {
    labels.push_back(5 + i * 499);
  }
  return labels;
}

PackedSequence Sequence(const std::vector<TokenId>& prefix,
                        const std::vector<std::vector<TokenId>>& items) {
  PackedSequence sequence =
      coordinator::PackItems(std::make_shared<const std::vector<TokenId>>(prefix), items);
  sequence.label_lists = {Labels()};
  const auto prefix_length = static_cast<std::int32_t>(prefix.size());
  for (const std::int32_t row : coordinator::LastRowOfEachItem(prefix_length, items)) {
    sequence.reads.push_back({row, 0, true, 0});
  }
  if (items.empty()) {
    sequence.reads.push_back({prefix_length - 1, 0, true, 0});
  }
  return sequence;
}

PackedSequence Text(std::vector<TokenId> tokens, proto::PooledRows needed) {
  PackedSequence sequence;
  const auto rows = static_cast<std::int32_t>(tokens.size());
  sequence.tokens = std::move(tokens);
  sequence.segments = {{proto::SegmentKind::kPrefix, rows, 0}};
  sequence.reads = {{.row = rows - 1, .first_row = 0}};
  sequence.NarrowReads(needed);
  return sequence;
}

ForwardPlan PlanOf(const std::vector<PackedSequence>& sequences, const proto::PlanLimits& limits) {
  coordinator::BlockCache no_cache(0, 0);
  coordinator::PassBuilder pass(limits);
  for (const PackedSequence& sequence : sequences) {
    std::vector<proto::RowLogits> results;
    coordinator::SequenceRun run(sequence, results, {}, "", no_cache, limits);
    proto::Check(run.AddWhole(pass) == coordinator::SequenceRun::Outcome::kAdded,
                 "the workload fits a pass");
  }
  return std::move(pass).Take();
}

std::vector<TokenId> Query(const Workload& workload, std::int64_t vocab_size) {
  return Tokens(workload.query_tokens, 0, vocab_size);
}

std::vector<TokenId> Item(const Workload& workload, std::int64_t i, std::int64_t vocab_size) {
  return Tokens(workload.item_tokens, i + 1, vocab_size);
}

}  // namespace

ForwardPlan PackedPlan(const Workload& workload, std::int64_t vocab_size,
                       const proto::PlanLimits& limits) {
  std::vector<PackedSequence> texts;
  for (const std::int64_t length : workload.texts) {
    const auto seed = static_cast<std::int64_t>(texts.size());
    texts.push_back(Text(Tokens(length, seed, vocab_size), limits.pooled_rows));
  }
  if (!texts.empty()) {
    return PlanOf(texts, limits);
  }
  std::vector<std::vector<TokenId>> items;
  for (std::int64_t i = 0; i < workload.items; ++i) {
    items.push_back(Item(workload, i, vocab_size));
  }
  return PlanOf({Sequence(Query(workload, vocab_size), items)}, limits);
}

std::vector<ForwardPlan> OneByOnePlans(const Workload& workload, std::int64_t vocab_size,
                                       const proto::PlanLimits& limits, std::int64_t most) {
  std::vector<ForwardPlan> plans;
  for (std::int64_t i = 0; i < std::min(workload.items, most); ++i) {
    std::vector<TokenId> prompt = Query(workload, vocab_size);
    const std::vector<TokenId> item = Item(workload, i, vocab_size);
    prompt.insert(prompt.end(), item.begin(), item.end());
    plans.push_back(PlanOf({Sequence(prompt, {})}, limits));
  }
  return plans;
}

}  // namespace scorecast::bench
