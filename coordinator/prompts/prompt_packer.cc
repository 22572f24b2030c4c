#include "coordinator/prompts/prompt_packer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "coordinator/schedule/pages/capacity.h"

namespace scorecast::coordinator {

using proto::Error;
using proto::PackedSequence;
using proto::RowRead;

PromptPacker::PromptPacker(std::string items_field, std::size_t num_items, const RowWants& wants,
                           const proto::PlanLimits& limits)
    : items_field_(std::move(items_field)), wants_(wants), limits_(limits) {
  packed_.items.resize(num_items);
}

void PromptPacker::Begin(std::vector<TokenId> prefix) {
  prefix_ = std::make_shared<const std::vector<TokenId>>(std::move(prefix));
  rest_ = nullptr;
  is_prefix_counted_ = false;
  blocks_.clear();
  items_of_blocks_.clear();
}

std::optional<Error> PromptPacker::Add(std::size_t item, Continuation tokens,
                                       std::vector<std::int32_t> rows) {
  if (tokens.is_whole || prefix_->empty()) {
    return AddPrompt(PackPrompt(tokens.ids, prefix_), item, rows);
  }
  blocks_.push_back(std::move(tokens.ids));
  items_of_blocks_.push_back({item, std::move(rows)});
  return std::nullopt;
}

std::optional<Error> PromptPacker::AddItemFirst(std::size_t item, Continuation tokens) {
  if (rest_ == nullptr) {
    rest_ = std::make_shared<const std::vector<TokenId>>(tokens.ids);
  }
  if (!tokens.is_whole) {
    tokens.head.insert(tokens.head.begin(), prefix_->begin(), prefix_->end());
  }
  return AddPrompt(PackHeadAndRest(std::move(tokens.head), tokens.ids, rest_), item, {});
}

std::optional<Error> PromptPacker::PackBlocks() {
  return blocks_.empty() ? std::nullopt : PackRange(0, blocks_.size());
}

std::optional<Error> PromptPacker::PackBlocksAsOne(bool reads_prefix) {
  if (blocks_.empty() && !reads_prefix) {
    return std::nullopt;
  }
  PackedSequence sequence = LayOut(0, blocks_.size(), reads_prefix);
  if (auto fault = CapacityFault(sequence, limits_)) {
    fault->param = items_field_;
    return fault;
  }
  AddPacked(std::move(sequence), 0, blocks_.size());
  return std::nullopt;
}

std::optional<Error> PromptPacker::PackRange(std::size_t begin, std::size_t end) {
  if (end - begin <= kMostBlocks) {
    PackedSequence sequence = LayOut(begin, end, /*reads_prefix=*/false);
    auto fault = CapacityFault(sequence, limits_);
    if (!fault) {
      AddPacked(std::move(sequence), begin, end);
      return std::nullopt;
    }
    if (end - begin == 1) {
      fault->param = FieldOf(items_of_blocks_[begin].item);
      return fault;
    }
  }
  const std::size_t middle = begin + (end - begin) / 2;
  auto fault = PackRange(begin, middle);
  return fault ? fault : PackRange(middle, end);
}

/// The sequence of the blocks [begin, end).
PackedSequence PromptPacker::LayOut(std::size_t begin, std::size_t end, bool reads_prefix) const {
  const auto blocks = std::span(blocks_).subspan(begin, end - begin);
  PackedSequence sequence = PackItems(prefix_, blocks);
  const auto prefix_length = static_cast<std::int32_t>(prefix_->size());
  if (reads_prefix) {
    AddReads(sequence, {}, 0, prefix_length - 1, 0);
  }
  const std::vector<std::int32_t> last_rows = LastRowOfEachItem(prefix_length, blocks);
  std::int32_t first_row = prefix_length;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = items_of_blocks_[begin + i];
    if (has_own_labels()) {
      sequence.label_lists.push_back(wants_.label_lists[block.item]);
    }
    if (wants_.likelihood) {
      AddTargets(sequence, prefix_length - 1, first_row, blocks[i]);
    } else {
      AddReads(sequence, block.rows, first_row, last_rows[i], has_own_labels() ? i : 0);
    }
    first_row += static_cast<std::int32_t>(blocks[i].size());
  }
  if (sequence.label_lists.empty()) {
    sequence.label_lists.push_back(wants_.label_lists.front());
  }
  return sequence;
}

/// Adds a sequence of the blocks [begin, end), whose reads are the last of the sequence's.
void PromptPacker::AddPacked(PackedSequence sequence, std::size_t begin, std::size_t end) {
  std::size_t read = sequence.reads.size();
  for (std::size_t i = end; i > begin; --i) {
    const std::size_t count = ReadsOfBlock(i - 1);
    read -= count;
    packed_.items[items_of_blocks_[i - 1].item] = {packed_.sequences.size(), read, count};
  }
  packed_.prompt_tokens +=
      sequence.rows() - (is_prefix_counted_ ? static_cast<std::int64_t>(prefix_->size()) : 0);
  is_prefix_counted_ = true;
  packed_.sequences.push_back(std::move(sequence));
}

/// Adds a sequence of its own for an item.
std::optional<Error> PromptPacker::AddPrompt(PackedSequence sequence, std::size_t item,
                                             std::span<const std::int32_t> rows) {
  sequence.label_lists.push_back(wants_.label_lists[has_own_labels() ? item : 0]);
  if (wants_.likelihood) {
    const std::vector<TokenId> tokens = sequence.AllTokens();
    const std::size_t before = std::min(prefix_->size(), tokens.size());
    const auto first_row = static_cast<std::int32_t>(before);
    AddTargets(sequence, first_row - 1, first_row, std::span(tokens).subspan(before));
  } else {
    AddReads(sequence, rows, 0, static_cast<std::int32_t>(sequence.rows()) - 1, 0);
  }
  if (auto fault = CapacityFault(sequence, limits_)) {
    fault->param = FieldOf(item);
    return fault;
  }
  packed_.items[item] = {packed_.sequences.size(), 0, sequence.reads.size()};
  packed_.prompt_tokens += sequence.rows();
  packed_.sequences.push_back(std::move(sequence));
  return std::nullopt;
}

std::size_t PromptPacker::ReadsOfBlock(std::size_t index) const {
  if (wants_.likelihood) {
    return blocks_[index].size();
  }
  return std::max<std::size_t>(items_of_blocks_[index].rows.size(), 1) *
         (wants_.second_reads ? 2 : 1);
}

void PromptPacker::AddTargets(PackedSequence& sequence, std::int32_t row_before,
                              std::int32_t first_row, std::span<const TokenId> tokens) const {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int32_t row = i == 0 ? row_before : first_row + static_cast<std::int32_t>(i) - 1;
    sequence.reads.push_back(
        {.row = row, .normalizer = true, .top_k = wants_.top_k, .target = tokens[i]});
  }
}

std::string PromptPacker::FieldOf(std::size_t item) const {
  return items_field_ + "[" + std::to_string(item) + "]";
}

/// Reads `rows`, counted from row `begin`, or `last` if there are none.
void PromptPacker::AddReads(PackedSequence& sequence, std::span<const std::int32_t> rows,
                            std::int32_t begin, std::int32_t last, std::size_t label_list) const {
  const auto add = [&](std::int32_t row) {
    sequence.reads.push_back({.row = row,
                              .label_list = static_cast<std::int32_t>(label_list),
                              .normalizer = wants_.normalizer,
                              .top_k = wants_.top_k});
    if (wants_.second_reads) {
      sequence.reads.push_back(sequence.reads.back());
      sequence.reads.back().normalizer = true;
    }
  };
  if (rows.empty()) {
    add(last);
  }
  for (const std::int32_t row : rows) {
    add(begin + row);
  }
}

}  // namespace scorecast::coordinator
