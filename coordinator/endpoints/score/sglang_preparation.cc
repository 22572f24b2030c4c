#include "coordinator/endpoints/score/sglang_preparation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "coordinator/prompts/joint_tokens.h"
#include "coordinator/prompts/prompt_packer.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "proto/base/count.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;

class SglangPreparation {
 public:
  explicit SglangPreparation(const CheckedScore& checked) : checked_(checked) {}

  std::optional<Error> Prepare(PromptPacker& packer, ScoreReadout& readout) {
    if (auto fault = Tokenize()) {
      return fault;
    }
    if (auto fault = TokenFault()) {
      return fault;
    }
    // Without items nothing is computed, not even a delimiter.
    const bool has_items = !checked_.items.empty();
    if (has_items && options().delimiter_visibility == DelimiterVisibility::kFirst) {
      prefix_.push_back(*options().delimiter);
    }
    readout.query_token_logprobs =
        has_items && checked_.request.return_token_logprobs() && !checked_.labels.per_item;
    readout.query_row = readout.query_token_logprobs || (has_items && readout.row.top_logprobs);
    const bool needs_query = HasBlocks() || readout.query_row || !has_items;
    if (auto fault = LengthFault(needs_query)) {
      return fault;
    }
    if (!has_items) {
      readout.prompt_tokens = static_cast<std::int64_t>(prefix_.size());
      return std::nullopt;
    }
    packer.Begin(prefix_);
    if (auto fault = AddItems(/*are_whole=*/false, packer)) {
      return fault;
    }
    if (needs_query) {
      if (auto fault = packer.PackBlocksAsOne(readout.query_row)) {
        return fault;
      }
    }
    return AddItems(/*are_whole=*/true, packer);
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
        JointTokens::Make(checked_.query, JointOptionsOf(checked_), left);
    if (!tokens) {
      return EncodeError(tokens.error(), too_long(), "query");
    }
    prefix_ = tokens->query();
    const std::vector<TextOrIds>& items = checked_.items;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (auto fault = StopFault(checked_.context.interruption)) {
        return fault;
      }
      Expected<Continuation, EncodeFault> item = tokens->Item(items[i], left);
      if (!item) {
        return EncodeError(item.error(), too_long(), At("items", i));
      }
      left -= static_cast<std::int64_t>(item->ids.size());
      items_.push_back(*std::move(item));
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
    for (const bool are_whole : {false, true}) {
      for (std::size_t i = 0; i < items_.size() && !fault; ++i) {
        if (items_[i].is_whole == are_whole) {
          fault = ListFault(items_[i].ids, At("items", i), "delimiter_in_item");
        }
      }
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
    for (const Continuation& item : items_) {
      rows += static_cast<std::int64_t>(item.ids.size());
    }
    if (rows > options().max_multi_item_seq_len) {
      return TooLong(Exceeds(rows, options().max_multi_item_seq_len) + " tokens");
    }
    return needs_query ? PositionFault() : std::nullopt;
  }

  std::optional<Error> PositionFault() const {
    // The longest of those that are packed, and of these the first.
    std::size_t longest = 0;
    std::int64_t item_length = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const auto length = static_cast<std::int64_t>(items_[i].ids.size());
      if (!items_[i].is_whole && length > item_length) {
        longest = i;
        item_length = length;
      }
    }
    const std::int64_t prefix_length = static_cast<std::int64_t>(prefix_.size());
    const std::int64_t limit = checked_.context.config.max_position_embeddings;
    if (prefix_length + item_length <= limit) {
      return std::nullopt;
    }
    const bool query_alone = prefix_length > limit || item_length == 0;
    return BadRequest("too_many_positions",
                      "Too many positions: " + Exceeds(prefix_length + item_length, limit) +
                          " (query " + std::to_string(prefix_length) + ", longest item " +
                          std::to_string(item_length) + ")." + kNothingIsCut,
                      query_alone ? "query" : At("items", longest));
  }

  bool HasBlocks() const {
    return std::any_of(items_.begin(), items_.end(),
                       [](const Continuation& item) { return !item.is_whole; });
  }

  /// Adds the items that are whole prompts, or those that are not, which become blocks.
  std::optional<Error> AddItems(bool are_whole, PromptPacker& packer) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].is_whole != are_whole) {
        continue;
      }
      if (are_whole) {
        if (auto fault = PromptFault(items_[i].ids, i, checked_.context.config)) {
          return fault;
        }
      }
      Expected<std::vector<std::int32_t>> rows = RowsRead(checked_, i, items_[i].ids);
      if (!rows) {
        return rows.error();
      }
      if (auto fault = packer.Add(i, std::move(items_[i]), *std::move(rows))) {
        return fault;
      }
    }
    return std::nullopt;
  }

  const CheckedScore& checked_;
  std::vector<TokenId> prefix_;
  std::vector<Continuation> items_;
};

}  // namespace

std::optional<Error> PrepareAsSglang(const CheckedScore& checked, PromptPacker& packer,
                                     ScoreReadout& readout) {
  return SglangPreparation(checked).Prepare(packer, readout);
}

}  // namespace scorecast::coordinator
