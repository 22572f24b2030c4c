#include "coordinator/endpoints/score/sglang_preparation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "coordinator/endpoints/score/joint_tokens.h"
#include "coordinator/endpoints/score/score_sequences.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::PackedSequence;

class SglangPreparation {
 public:
  explicit SglangPreparation(const CheckedScore& checked) : checked_(checked) {}

  std::optional<Error> Prepare(std::vector<PackedSequence>& sequences, ScoreReadout& readout) {
    if (auto fault = Tokenize()) {
      return fault;
    }
    if (auto fault = TokenFault()) {
      return fault;
    }
    // Without items nothing is computed, not even a delimiter.
    const bool has_items = !checked_.request.items.empty();
    if (has_items && options().delimiter_visibility == DelimiterVisibility::kFirst) {
      prefix_.push_back(*options().delimiter);
    }
    readout.query_token_logprobs =
        has_items && checked_.request.return_token_logprobs && !checked_.labels.per_item;
    readout.query_row = readout.query_token_logprobs || (has_items && readout.row.top_logprobs);
    const bool needs_query = !blocks_.empty() || readout.query_row || !has_items;
    if (auto fault = LengthFault(needs_query)) {
      return fault;
    }
    if (!has_items) {
      readout.prompt_tokens = static_cast<std::int64_t>(prefix_.size());
      return std::nullopt;
    }
    ScoreSequences list(checked_, prefix_, readout);
    if (needs_query) {
      if (auto fault = list.AddPacked(blocks_, items_of_blocks_)) {
        return fault;
      }
    }
    for (const auto& [item, prompt] : prompts_) {
      if (auto fault = list.AddPrompt(prompt, item)) {
        return fault;
      }
    }
    sequences = std::move(list).Take();
    return std::nullopt;
  }

 private:
  const ServerOptions& options() const { return checked_.context.options; }

  /// Ends early if LengthFault is certain.
  std::optional<Error> Tokenize() {
    const auto too_long = [&] {
      return TooLong("more than " + proto::Count(options().max_multi_item_seq_len, "token"));
    };
    // For the query and the items that are left.
    std::int64_t left = CountedTokens(options().max_multi_item_seq_len);
    const Expected<JointTokens, EncodeFault> tokens =
        JointTokens::Make(checked_.request, checked_.context, left);
    if (!tokens) {
      return EncodeError(tokens.error(), too_long(), "query");
    }
    prefix_ = tokens->query();
    const std::vector<TextOrIds>& items = checked_.request.items;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Expected<ItemTokens, EncodeFault> item = tokens->Item(items[i], left);
      if (!item) {
        return EncodeError(item.error(), too_long(), At("items", i));
      }
      left -= static_cast<std::int64_t>(item->ids.size());
      if (item->include_query) {
        prompts_.emplace_back(i, std::move(item->ids));
      } else {
        blocks_.push_back(std::move(item->ids));
        items_of_blocks_.push_back(i);
      }
    }
    return std::nullopt;
  }

  /// `length` says how long query and items are together.
  static Error TooLong(const std::string& length) {
    return BadRequest("sequence_too_long", "Query and items together are too long: " + length + ".",
                      "items");
  }

  std::optional<Error> TokenFault() const {
    auto fault = QueryFault(prefix_, checked_.extraction_token);
    if (!fault) {
      fault = ListFault(prefix_, "query", "delimiter_in_query");
    }
    for (std::size_t i = 0; i < blocks_.size() && !fault; ++i) {
      fault = ListFault(blocks_[i], At("items", items_of_blocks_[i]), "delimiter_in_item");
    }
    for (std::size_t i = 0; i < prompts_.size() && !fault; ++i) {
      fault = ListFault(prompts_[i].second, At("items", prompts_[i].first), "delimiter_in_item");
    }
    return fault;
  }

  std::optional<Error> ListFault(const std::vector<TokenId>& ids, const std::string& field,
                                 const char* delimiter_reason) const {
    if (auto fault = VocabularyFault(ids, field, checked_.context.config.vocab_size)) {
      return fault;
    }
    if (!options().delimiter) {
      return std::nullopt;
    }
    const TokenId delimiter = *options().delimiter;
    const auto found = std::find(ids.begin(), ids.end(), delimiter);
    if (found != ids.end()) {
      return BadRequest(delimiter_reason,
                        field + " contains the delimiter's token ID " + std::to_string(delimiter) +
                            ", at its token " + std::to_string(found - ids.begin()) + ".",
                        field);
    }
    return std::nullopt;
  }

  /// Checks all tokens that are computed, and the positions of the packed ones.
  std::optional<Error> LengthFault(bool needs_query) const {
    std::int64_t rows = needs_query ? static_cast<std::int64_t>(prefix_.size()) : 0;
    for (const std::vector<TokenId>& block : blocks_) {
      rows += static_cast<std::int64_t>(block.size());
    }
    for (const auto& [item, prompt] : prompts_) {
      rows += static_cast<std::int64_t>(prompt.size());
    }
    if (rows > options().max_multi_item_seq_len) {
      return TooLong(Exceeds(rows, options().max_multi_item_seq_len) + " tokens");
    }
    return needs_query ? PositionFault() : std::nullopt;
  }

  std::optional<Error> PositionFault() const {
    const auto longest =
        std::max_element(blocks_.begin(), blocks_.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const std::int64_t item_length =
        longest == blocks_.end() ? 0 : static_cast<std::int64_t>(longest->size());
    const std::int64_t prefix_length = static_cast<std::int64_t>(prefix_.size());
    const std::int64_t limit = checked_.context.config.max_position_embeddings;
    if (prefix_length + item_length <= limit) {
      return std::nullopt;
    }
    const bool query_alone = prefix_length > limit || item_length == 0;
    return BadRequest(
        "too_many_positions",
        "Too many positions: " + Exceeds(prefix_length + item_length, limit) + " (query " +
            std::to_string(prefix_length) + ", longest item " + std::to_string(item_length) + ").",
        query_alone
            ? "query"
            : At("items", items_of_blocks_[static_cast<std::size_t>(longest - blocks_.begin())]));
  }

  const CheckedScore& checked_;
  std::vector<TokenId> prefix_;
  std::vector<std::vector<TokenId>> blocks_;
  std::vector<std::size_t> items_of_blocks_;
  std::vector<std::pair<std::size_t, std::vector<TokenId>>> prompts_;  ///< Item, query and item.
};

}  // namespace

std::optional<Error> PrepareAsSglang(const CheckedScore& checked,
                                     std::vector<PackedSequence>& sequences,
                                     ScoreReadout& readout) {
  return SglangPreparation(checked).Prepare(sequences, readout);
}

}  // namespace scorecast::coordinator
