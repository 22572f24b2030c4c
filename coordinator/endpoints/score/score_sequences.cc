#include "coordinator/endpoints/score/score_sequences.h"

#include <string>
#include <utility>

#include "coordinator/request/item_packing.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/schedule/pages/capacity.h"

namespace scorecast::coordinator {

using proto::Error;
using proto::PackedSequence;
using proto::RowRead;

namespace {

/// The fault of the tokens of a prompt, which consists of the query and an item.
std::optional<Error> PromptFault(const std::vector<TokenId>& prompt, std::size_t item,
                                 const RequestContext& context) {
  const std::string field = At("items", item);
  if (prompt.empty()) {
    return BadRequest("empty_prompt", "The query and " + field + " together have no token.", field);
  }
  const std::int64_t limit = context.config.max_position_embeddings;
  const auto rows = static_cast<std::int64_t>(prompt.size());
  if (rows > limit) {
    return TooManyPositions(Exceeds(rows, limit), item);
  }
  // A token may span query and item, so the fault is that of the item.
  return VocabularyFault(prompt, field, context.config.vocab_size);
}

}  // namespace

ScoreSequences::ScoreSequences(const CheckedScore& checked, std::vector<TokenId> prefix,
                               ScoreReadout& readout)
    : checked_(checked),
      prefix_(std::make_shared<const std::vector<TokenId>>(std::move(prefix))),
      readout_(readout) {
  const std::size_t num_items = checked.request.items.size();
  readout_.item_rows.resize(num_items);
  if (checked.extraction_token) {
    readout_.occurrences.emplace(num_items);
  }
}

std::optional<Error> ScoreSequences::AddPrompt(const std::vector<TokenId>& prompt,
                                               std::size_t item) {
  if (auto fault = PromptFault(prompt, item, checked_.context)) {
    return fault;
  }
  PackedSequence sequence = PackPrompt(prompt, prefix_);
  sequence.label_lists.push_back(checked_.labels.lists[checked_.labels.per_item ? item : 0]);
  const auto last = static_cast<std::int32_t>(prompt.size()) - 1;
  if (auto fault = AddItemReads(sequence, item, prompt, 0, last, 0)) {
    return fault;
  }
  if (auto fault = CapacityFault(sequence, checked_.context.limits)) {
    fault->param = At("items", item);
    return fault;
  }
  readout_.prompt_tokens += sequence.rows();
  const std::size_t count = sequence.reads.size();
  Add(std::move(sequence), {&item, 1}, {&count, 1});
  return std::nullopt;
}

std::optional<Error> ScoreSequences::AddPacked(std::span<const std::vector<TokenId>> blocks,
                                               std::span<const std::size_t> items) {
  PackedSequence sequence = PackItems(*prefix_, blocks);
  SharePrefix(sequence, prefix_);
  const LabelLists& labels = checked_.labels;
  const bool has_own_lists = labels.per_item && !items.empty();
  if (has_own_lists) {
    for (const std::size_t item : items) {
      sequence.label_lists.push_back(labels.lists[item]);
    }
  } else {
    sequence.label_lists = labels.lists;
  }
  const auto prefix_length = static_cast<std::int32_t>(prefix_->size());
  if (readout_.query_row && sequences_.empty()) {
    sequence.reads.push_back(Read(prefix_length - 1, 0));
  }
  const std::vector<std::int32_t> last_rows = LastRowOfEachItem(prefix_length, blocks);
  std::vector<std::size_t> counts;
  counts.reserve(items.size());
  std::int32_t begin = prefix_length;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t reads = sequence.reads.size();
    if (auto fault = AddItemReads(sequence, items[i], blocks[i], begin, last_rows[i],
                                  has_own_lists ? i : 0)) {
      return fault;
    }
    counts.push_back(sequence.reads.size() - reads);
    begin += static_cast<std::int32_t>(blocks[i].size());
  }
  if (auto fault = CapacityFault(sequence, checked_.context.limits)) {
    const bool has_one_sequence = checked_.context.options.has_sglang_rules();
    if (has_one_sequence || items.size() < 2) {
      fault->param = has_one_sequence ? "items" : At("items", items.front());
      return fault;
    }
    const std::size_t half = items.size() / 2;
    fault = AddPacked(blocks.first(half), items.first(half));
    return fault ? fault : AddPacked(blocks.subspan(half), items.subspan(half));
  }
  readout_.prompt_tokens += sequence.rows() - (is_prefix_counted_ ? prefix_length : 0);
  is_prefix_counted_ = true;
  Add(std::move(sequence), items, counts);
  return std::nullopt;
}

RowRead ScoreSequences::Read(std::int32_t row, std::size_t label_list) const {
  return {row, static_cast<std::int32_t>(label_list), readout_.row.NeedsNormalizer(),
          static_cast<std::int32_t>(checked_.request.top_logprobs)};
}

std::optional<Error> ScoreSequences::AddItemReads(PackedSequence& sequence, std::size_t item,
                                                  std::span<const TokenId> tokens,
                                                  std::int32_t begin, std::int32_t last,
                                                  std::size_t label_list) const {
  if (!checked_.extraction_token) {
    sequence.reads.push_back(Read(last, label_list));
    return std::nullopt;
  }
  const std::size_t reads = sequence.reads.size();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == *checked_.extraction_token) {
      sequence.reads.push_back(Read(begin + static_cast<std::int32_t>(i), label_list));
    }
  }
  if (sequence.reads.size() > reads) {
    return std::nullopt;
  }
  const std::string field = At("items", item);
  return BadRequest("no_extraction_token",
                    "No score-extraction token (id=" + std::to_string(*checked_.extraction_token) +
                        ") found in " + field + "; the client must render one per candidate.",
                    field);
}

void ScoreSequences::Add(PackedSequence sequence, std::span<const std::size_t> items,
                         std::span<const std::size_t> counts) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    readout_.item_rows[items[i]] = item_rows_;
    item_rows_ += counts[i];
    if (readout_.occurrences) {
      (*readout_.occurrences)[items[i]] = static_cast<std::int64_t>(counts[i]);
    }
  }
  sequences_.push_back(std::move(sequence));
}

}  // namespace scorecast::coordinator
