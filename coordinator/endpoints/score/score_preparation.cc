#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "coordinator/endpoints/score/joint_tokens.h"
#include "coordinator/endpoints/score/score_request.h"
#include "coordinator/endpoints/score/score_response.h"
#include "coordinator/request/item_packing.h"
#include "coordinator/request/labels.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/score_kind.h"
#include "coordinator/schedule/capacity.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::PackedSequence;
using proto::RowRead;
using proto::Unexpected;

/// The first fault that can be found without tokenizing.
std::optional<Error> FieldFault(const ScoreRequest& request, ScoreKind kind,
                                const RequestContext& context) {
  if (request.max_new_tokens != 0) {
    return BadRequest("max_new_tokens_not_zero",
                      "Scoring generates nothing: max_new_tokens must be 0, not " +
                          std::to_string(request.max_new_tokens) + ".",
                      "max_new_tokens");
  }
  if (auto fault = SoftmaxTemperatureFault(request.temperature, kind, "temperature")) {
    return fault;
  }
  if (auto fault =
          LogprobsFault(request.return_token_logprobs, request.top_logprobs, context.config)) {
    return fault;
  }
  if (auto fault = OptionsFault(request)) {
    return fault;
  }
  const auto num_items = static_cast<std::int64_t>(request.items.size());
  if (num_items > context.options.max_items) {
    return BadRequest("too_many_items",
                      "Too many items: " + Exceeds(num_items, context.options.max_items) + ".",
                      "items");
  }
  return std::nullopt;
}

/// The fault of a request that mixes text and ids, or whose text cannot be tokenized.
std::optional<Error> TextOrIdsFault(const ScoreRequest& request, const RequestContext& context) {
  const bool text = IsText(request.query);
  for (std::size_t i = 0; i < request.items.size(); ++i) {
    if (IsText(request.items[i]) != text) {
      return BadRequest(
          "text_and_ids_mixed",
          "Invalid combination of query/items types for score_request: the query is " +
              std::string(text ? "text, " : "token ids, ") + At("items", i) +
              (text ? " token ids." : " text."),
          At("items", i));
    }
  }
  if (!text) {
    return std::nullopt;
  }
  if (context.tokenizer == nullptr) {
    return NoTokenizer("query");
  }
  if (!IsValidUtf8(Text(request.query))) {
    return InvalidUtf8("query");
  }
  for (std::size_t i = 0; i < request.items.size(); ++i) {
    if (!IsValidUtf8(Text(request.items[i]))) {
      return InvalidUtf8(At("items", i));
    }
  }
  return std::nullopt;
}

RowReadout ReadoutOf(const ScoreRequest& request, ScoreKind kind) {
  RowReadout readout;
  readout.kind = kind;
  readout.temperature = request.temperature;
  readout.token_logprobs = request.return_token_logprobs;
  readout.top_logprobs = request.top_logprobs > 0;
  return readout;
}

void WarnOfItemFirst() {
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true)) {
    spdlog::warn("item_first is ignored in multi-item mode (logged once)");
  }
}

Error EmptyQuery() { return BadRequest("empty_query", "The query has no token.", "query"); }

/// `positions` says how many the query and the item of `field` have.
Error TooManyPositions(const std::string& positions, const std::string& field) {
  return BadRequest("too_many_positions",
                    "Too many positions: " + positions + " (query and " + field + ").", field);
}

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
    return TooManyPositions(Exceeds(rows, limit), field);
  }
  // A token may span query and item, so the fault is that of the item.
  return VocabularyFault(prompt, field, context.config.vocab_size);
}

/// The sequences of a request, and which rows they read.
class SequenceList {
 public:
  /// Prompts share the tokens of `query`.
  SequenceList(const ScoreRequest& request, const LabelLists& labels,
               const std::vector<TokenId>& query, const RequestContext& context,
               ScoreReadout& readout)
      : request_(request),
        labels_(labels),
        query_(std::make_shared<const std::vector<TokenId>>(query)),
        context_(context),
        readout_(readout) {
    readout_.item_rows.resize(request.items.size());
  }

  /// Reads the last row of `prompt`, which is the query and item `item`. Returns its fault.
  std::optional<Error> AddPrompt(const std::vector<TokenId>& prompt, std::size_t item) {
    if (auto fault = PromptFault(prompt, item, context_)) {
      return fault;
    }
    PackedSequence sequence = PackPrompt(prompt, query_);
    sequence.label_lists.push_back(labels_.lists[labels_.per_item ? item : 0]);
    AddItemRead(sequence, static_cast<std::int32_t>(sequence.rows()) - 1, 0, item);
    return Add(std::move(sequence), At("items", item));
  }

  /// Reads a row for each of `items`: the last row of its block or, if it has none, the last row of
  /// the prefix. `blocks` are those of `items`. Returns the sequence's fault.
  std::optional<Error> AddPacked(PackedSequence packed,
                                 const std::vector<std::vector<TokenId>>& blocks,
                                 const std::vector<std::size_t>& items) {
    packed.label_lists = labels_.lists;
    const std::int32_t prefix_length = packed.segments.front().length;
    if (readout_.query_row) {
      packed.reads.push_back(Read(prefix_length - 1, 0));
    }
    const std::vector<std::int32_t> rows = LastRowOfEachItem(prefix_length, blocks);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      AddItemRead(packed, rows[i], labels_.per_item ? items[i] : 0, items[i]);
    }
    return Add(std::move(packed), "items");
  }

  std::vector<PackedSequence> Take() && { return std::move(sequences_); }

 private:
  RowRead Read(std::int32_t row, std::size_t label_list) const {
    return {row, static_cast<std::int32_t>(label_list), readout_.row.NeedsNormalizer(),
            static_cast<std::int32_t>(request_.top_logprobs)};
  }

  void AddItemRead(PackedSequence& sequence, std::int32_t row, std::size_t label_list,
                   std::size_t item) {
    sequence.reads.push_back(Read(row, label_list));
    readout_.item_rows[item] = item_rows_++;
  }

  std::optional<Error> Add(PackedSequence sequence, const std::string& field) {
    if (auto fault = CapacityFault(sequence, context_.limits)) {
      fault->param = field;
      return fault;
    }
    readout_.prompt_tokens += sequence.rows();
    sequences_.push_back(std::move(sequence));
    return std::nullopt;
  }

  const ScoreRequest& request_;
  const LabelLists& labels_;
  const std::shared_ptr<const std::vector<TokenId>> query_;
  const RequestContext& context_;
  ScoreReadout& readout_;
  std::vector<PackedSequence> sequences_;
  std::size_t item_rows_ = 0;
};

/// Packs the query and the items one after the other. Each item sees the query and itself. An item
/// whose tokens merge with the query's is a prompt of its own.
class MultiItemPreparation {
 public:
  MultiItemPreparation(const ScoreRequest& request, const LabelLists& labels,
                       const RequestContext& context)
      : request_(request), labels_(labels), context_(context) {}

  std::optional<Error> Prepare(std::vector<PackedSequence>& sequences, ScoreReadout& readout) {
    if (auto fault = Tokenize()) {
      return fault;
    }
    if (auto fault = TokenFault()) {
      return fault;
    }
    // Without items nothing is computed, not even a delimiter.
    const bool has_items = !request_.items.empty();
    if (has_items && context_.options.delimiter_visibility == DelimiterVisibility::kFirst) {
      prefix_.push_back(*context_.options.delimiter);
    }
    readout.query_token_logprobs = has_items && request_.return_token_logprobs && !labels_.per_item;
    readout.query_row = readout.query_token_logprobs || (has_items && readout.row.top_logprobs);
    const bool needs_query = !blocks_.empty() || readout.query_row || !has_items;
    if (auto fault = LengthFault(needs_query)) {
      return fault;
    }
    if (!has_items) {
      readout.prompt_tokens = static_cast<std::int64_t>(prefix_.size());
      return std::nullopt;
    }
    SequenceList list(request_, labels_, prefix_, context_, readout);
    if (needs_query) {
      if (auto fault = list.AddPacked(PackItems(prefix_, blocks_), blocks_, items_of_blocks_)) {
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
  /// Ends early if LengthFault is certain.
  std::optional<Error> Tokenize() {
    const auto too_long = [&] {
      return TooLong(MoreThan(context_.options.max_multi_item_seq_len));
    };
    // For the query and the items that are left.
    std::int64_t left = CountedTokens(context_.options.max_multi_item_seq_len);
    const Expected<JointTokens, EncodeFault> tokens = JointTokens::Make(request_, context_, left);
    if (!tokens) {
      return EncodeError(tokens.error(), too_long(), "query");
    }
    prefix_ = tokens->query();
    for (std::size_t i = 0; i < request_.items.size(); ++i) {
      Expected<ItemTokens, EncodeFault> item = tokens->Item(request_.items[i], left);
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
    return BadRequest("sequence_too_long",
                      "Query and items together are too long: " + length + " tokens.", "items");
  }

  std::optional<Error> TokenFault() const {
    if (prefix_.empty()) {
      return EmptyQuery();
    }
    auto fault = ListFault(prefix_, "query", "delimiter_in_query");
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
    if (auto fault = VocabularyFault(ids, field, context_.config.vocab_size)) {
      return fault;
    }
    if (!context_.options.delimiter) {
      return std::nullopt;
    }
    const TokenId delimiter = *context_.options.delimiter;
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
    if (rows > context_.options.max_multi_item_seq_len) {
      return TooLong(Exceeds(rows, context_.options.max_multi_item_seq_len));
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
    const std::int64_t limit = context_.config.max_position_embeddings;
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

  const ScoreRequest& request_;
  const LabelLists& labels_;
  const RequestContext& context_;
  std::vector<TokenId> prefix_;
  std::vector<std::vector<TokenId>> blocks_;
  std::vector<std::size_t> items_of_blocks_;
  std::vector<std::pair<std::size_t, std::vector<TokenId>>> prompts_;  ///< Item, query and item.
};

/// Makes a prompt for each item: query and item as one text.
class OneByOnePreparation {
 public:
  OneByOnePreparation(const ScoreRequest& request, const LabelLists& labels,
                      const RequestContext& context)
      : request_(request), labels_(labels), context_(context) {}

  std::optional<Error> Prepare(std::vector<PackedSequence>& sequences,
                               ScoreReadout& readout) const {
    const std::int64_t limit = context_.config.max_position_embeddings;
    const std::int64_t most = CountedTokens(limit);
    const Expected<JointTokens, EncodeFault> tokens = JointTokens::Make(request_, context_, most);
    if (!tokens && request_.items.empty() && tokens.error() != EncodeFault::kStopped) {
      return std::nullopt;  // Nothing is computed.
    }
    if (!tokens) {
      return EncodeError(tokens.error(), TooManyPositions(MoreThan(limit), At("items", 0)),
                         "query");
    }
    if (tokens->query().empty()) {
      return EmptyQuery();
    }
    if (auto fault = IdsFault()) {
      return fault;
    }
    SequenceList list(request_, labels_, tokens->query(), context_, readout);
    for (std::size_t i = 0; i < request_.items.size(); ++i) {
      Expected<std::vector<TokenId>, EncodeFault> prompt = tokens->Prompt(request_.items[i], most);
      if (!prompt) {
        return EncodeError(prompt.error(), TooManyPositions(MoreThan(limit), At("items", i)),
                           At("items", i));
      }
      if (auto fault = list.AddPrompt(*prompt, i)) {
        return fault;
      }
    }
    sequences = std::move(list).Take();
    return std::nullopt;
  }

 private:
  std::optional<Error> IdsFault() const {
    if (IsText(request_.query)) {
      return std::nullopt;
    }
    const std::int64_t vocab_size = context_.config.vocab_size;
    auto fault = VocabularyFault(Ids(request_.query), "query", vocab_size);
    for (std::size_t i = 0; i < request_.items.size() && !fault; ++i) {
      fault = VocabularyFault(Ids(request_.items[i]), At("items", i), vocab_size);
    }
    return fault;
  }

  const ScoreRequest& request_;
  const LabelLists& labels_;
  const RequestContext& context_;
};

}  // namespace

/// The readout is a ScoreReadout. In multi-item mode the first sequence reads the query's row if
/// the response needs it, and then the last row of each item that it packs; each other item has a
/// sequence of its own. One by one, there is a sequence for each item, which reads its last row.
/// Without items there is no sequence.
Expected<PreparedRequest> ScoreRequest::Prepare(const RequestContext& context,
                                                const OnDelta& /*on_delta*/) const {
  const ScoreRequest& request = *this;
  const Expected<ScoreKind> kind =
      ResolveScoreKind(request.activation, request.apply_softmax, context.config);
  if (!kind) {
    return Unexpected(kind.error());
  }
  if (auto fault = FieldFault(request, *kind, context)) {
    return Unexpected(*std::move(fault));
  }
  if (auto fault = TextOrIdsFault(request, context)) {
    return Unexpected(*std::move(fault));
  }
  Expected<LabelLists> label_lists =
      ResolveLabels(request.label_token_ids, request.labels, request.items.size(),
                    context.tokenizer, context.config, context.stop);
  if (!label_lists) {
    return Unexpected(std::move(label_lists).error());
  }

  const bool multi_item = context.options.is_multi_item();
  PreparedRequest prepared;
  auto readout = std::make_shared<ScoreReadout>();
  readout->row = ReadoutOf(request, *kind);
  readout->item_first_ignored = multi_item && request.item_first;
  auto fault = multi_item ? MultiItemPreparation(request, *label_lists, context)
                                .Prepare(prepared.sequences, *readout)
                          : OneByOnePreparation(request, *label_lists, context)
                                .Prepare(prepared.sequences, *readout);
  if (fault) {
    return Unexpected(*std::move(fault));
  }
  if (readout->item_first_ignored) {
    WarnOfItemFirst();
  }
  prepared.readout = std::move(readout);
  return prepared;
}

}  // namespace scorecast::coordinator
