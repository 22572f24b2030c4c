#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "coordinator/endpoints/score/score_request.h"
#include "coordinator/endpoints/score/score_response.h"
#include "coordinator/request/item_packing.h"
#include "coordinator/request/labels.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/score_kind.h"
#include "coordinator/schedule/capacity.h"

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

/// Packs the query and the items one after the other. Each item sees the query and itself.
class MultiItemPreparation {
 public:
  MultiItemPreparation(const ScoreRequest& request, const LabelLists& labels,
                       const RequestContext& context)
      : request_(request), labels_(labels), context_(context) {}

  std::optional<Error> Prepare(std::vector<PackedSequence>& sequences, ScoreReadout& readout) {
    Tokenize();
    if (auto fault = TokenFault()) {
      return fault;
    }
    // Without items nothing is computed, not even a delimiter.
    if (!items_.empty() && context_.options.delimiter_visibility == DelimiterVisibility::kFirst) {
      prefix_.push_back(*context_.options.delimiter);
    }
    if (auto fault = LengthFault()) {
      return fault;
    }
    if (items_.empty()) {
      readout.prompt_tokens = static_cast<std::int64_t>(prefix_.size());
      return std::nullopt;
    }
    PackedSequence sequence = PackItems(prefix_, items_);
    AddReads(sequence, readout);
    if (auto fault = CapacityFault(sequence, context_.limits)) {
      fault->param = "items";
      return fault;
    }
    readout.prompt_tokens = sequence.rows();
    sequences.push_back(std::move(sequence));
    return std::nullopt;
  }

 private:
  void Tokenize() {
    if (!IsText(request_.query)) {
      prefix_ = Ids(request_.query);
      for (const TextOrIds& item : request_.items) {
        items_.push_back(Ids(item));
      }
      return;
    }
    prefix_ = EncodeFromStart(*context_.tokenizer, Text(request_.query));
    for (const TextOrIds& item : request_.items) {
      items_.push_back(context_.tokenizer->Encode(Text(item)));
    }
  }

  std::optional<Error> TokenFault() const {
    if (prefix_.empty()) {
      return EmptyQuery();
    }
    if (auto fault = ListFault(prefix_, "query", "delimiter_in_query")) {
      return fault;
    }
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (auto fault = ListFault(items_[i], At("items", i), "delimiter_in_item")) {
        return fault;
      }
    }
    return std::nullopt;
  }

  std::optional<Error> ListFault(const std::vector<TokenId>& ids, const std::string& field,
                                 const char* delimiter_reason) const {
    if (auto fault = VocabularyFault(ids, field, context_.config.vocab_size)) {
      return fault;
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

  std::optional<Error> LengthFault() const {
    const std::int64_t rows =
        std::accumulate(items_.begin(), items_.end(), static_cast<std::int64_t>(prefix_.size()),
                        [](std::int64_t sum, const std::vector<TokenId>& item) {
                          return sum + static_cast<std::int64_t>(item.size());
                        });
    if (rows > context_.options.max_multi_item_seq_len) {
      return BadRequest("sequence_too_long",
                        "Query and items together are too long: " +
                            Exceeds(rows, context_.options.max_multi_item_seq_len) + " tokens.",
                        "items");
    }
    return PositionFault();
  }

  std::optional<Error> PositionFault() const {
    const auto longest =
        std::max_element(items_.begin(), items_.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const std::int64_t item_length =
        longest == items_.end() ? 0 : static_cast<std::int64_t>(longest->size());
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
        query_alone ? "query" : At("items", static_cast<std::size_t>(longest - items_.begin())));
  }

  void AddReads(PackedSequence& sequence, ScoreReadout& readout) const {
    const bool normalizer = readout.row.NeedsNormalizer();
    const auto top_k = static_cast<std::int32_t>(request_.top_logprobs);
    sequence.label_lists = labels_.lists;
    readout.query_token_logprobs = request_.return_token_logprobs && !labels_.per_item;
    readout.query_row = readout.query_token_logprobs || readout.row.top_logprobs;
    const auto prefix_length = static_cast<std::int32_t>(prefix_.size());
    if (readout.query_row) {
      sequence.reads.push_back(RowRead{prefix_length - 1, 0, normalizer, top_k});
    }
    const std::vector<std::int32_t> rows = LastRowOfEachItem(prefix_length, items_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto list = static_cast<std::int32_t>(labels_.per_item ? i : 0);
      sequence.reads.push_back(RowRead{rows[i], list, normalizer, top_k});
    }
  }

  const ScoreRequest& request_;
  const LabelLists& labels_;
  const RequestContext& context_;
  std::vector<TokenId> prefix_;
  std::vector<std::vector<TokenId>> items_;
};

/// Makes a prompt for each item: query and item as one text.
class OneByOnePreparation {
 public:
  OneByOnePreparation(const ScoreRequest& request, const LabelLists& labels,
                      const RequestContext& context)
      : request_(request), labels_(labels), context_(context) {}

  std::optional<Error> Prepare(std::vector<PackedSequence>& sequences,
                               ScoreReadout& readout) const {
    if (QueryIsEmpty()) {
      return EmptyQuery();
    }
    if (auto fault = IdsFault()) {
      return fault;
    }
    for (std::size_t i = 0; i < request_.items.size(); ++i) {
      PackedSequence sequence = PackItems(Prompt(request_.items[i]), {});
      if (auto fault = PromptFault(sequence, i)) {
        return fault;
      }
      sequence.label_lists.push_back(labels_.lists[labels_.per_item ? i : 0]);
      sequence.reads.push_back(RowRead{static_cast<std::int32_t>(sequence.rows()) - 1, 0,
                                       readout.row.NeedsNormalizer(),
                                       static_cast<std::int32_t>(request_.top_logprobs)});
      readout.prompt_tokens += sequence.rows();
      sequences.push_back(std::move(sequence));
    }
    return std::nullopt;
  }

 private:
  bool QueryIsEmpty() const {
    if (!IsText(request_.query)) {
      return Ids(request_.query).empty();
    }
    return !context_.tokenizer->bos() && context_.tokenizer->Encode(Text(request_.query)).empty();
  }

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

  std::vector<TokenId> Prompt(const TextOrIds& item) const {
    const TextOrIds& first = request_.item_first ? item : request_.query;
    const TextOrIds& second = request_.item_first ? request_.query : item;
    if (IsText(first)) {
      return EncodeFromStart(*context_.tokenizer, Text(first) + Text(second));
    }
    std::vector<TokenId> ids = Ids(first);
    ids.insert(ids.end(), Ids(second).begin(), Ids(second).end());
    return ids;
  }

  std::optional<Error> PromptFault(const PackedSequence& sequence, std::size_t item) const {
    const std::string field = At("items", item);
    if (sequence.rows() == 0) {
      return BadRequest("empty_prompt", "The query and " + field + " together have no token.",
                        field);
    }
    const std::int64_t limit = context_.config.max_position_embeddings;
    if (sequence.rows() > limit) {
      return BadRequest(
          "too_many_positions",
          "Too many positions: " + Exceeds(sequence.rows(), limit) + " (query and " + field + ").",
          field);
    }
    // A token may span query and item, so the fault is that of the item.
    if (auto fault = VocabularyFault(sequence.tokens, field, context_.config.vocab_size)) {
      return fault;
    }
    if (auto fault = CapacityFault(sequence, context_.limits)) {
      fault->param = field;
      return fault;
    }
    return std::nullopt;
  }

  const ScoreRequest& request_;
  const LabelLists& labels_;
  const RequestContext& context_;
};

}  // namespace

/// The readout is a ScoreReadout. In multi-item mode there is one sequence, which reads the query's
/// row if the response needs it, and then the last row of each item. One by one, there is a
/// sequence for each item, which reads its last row. Without items there is no sequence.
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
                    context.tokenizer, context.config);
  if (!label_lists) {
    return Unexpected(std::move(label_lists).error());
  }

  const bool multi_item = context.options.delimiter.has_value();
  PreparedRequest prepared;
  auto readout = std::make_shared<ScoreReadout>();
  readout->num_items = request.items.size();
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
