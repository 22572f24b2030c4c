#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "coordinator/endpoints/score/joint_tokens.h"
#include "coordinator/endpoints/score/score_checks.h"
#include "coordinator/endpoints/score/score_request.h"
#include "coordinator/endpoints/score/score_response.h"
#include "coordinator/endpoints/score/score_sequences.h"
#include "coordinator/endpoints/score/sglang_preparation.h"
#include "coordinator/request/labels.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/score_kind.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::PackedSequence;
using proto::Unexpected;

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
    spdlog::warn("item_first is ignored with --enable-mis or a delimiter (logged once)");
  }
}

/// Packs the query and the items one after the other; or makes a prompt for each item, if the
/// server scores one by one or items come first. Each item is limited by itself.
class Preparation {
 public:
  explicit Preparation(const CheckedScore& checked)
      : checked_(checked),
        has_prompts_(checked.context.options.one_by_one || checked.request.item_first) {}

  std::optional<Error> Prepare(std::vector<PackedSequence>& sequences,
                               ScoreReadout& readout) const {
    const std::vector<TextOrIds>& items = checked_.request.items;
    const std::int64_t limit = checked_.context.config.max_position_embeddings;
    const std::int64_t most = CountedTokens(limit);
    const Expected<JointTokens, EncodeFault> tokens =
        JointTokens::Make(checked_.request, checked_.context, most);
    if (!tokens && items.empty() && tokens.error() != EncodeFault::kStopped) {
      return std::nullopt;  // Nothing is computed.
    }
    if (!tokens) {
      return EncodeError(tokens.error(), TooManyPositions(MoreThan(limit), 0), "query");
    }
    if (auto fault = QueryFault(tokens->query(), checked_.extraction_token)) {
      return fault;
    }
    if (auto fault = IdsFault()) {
      return fault;
    }
    ScoreSequences list(checked_, tokens->query(), readout);
    std::vector<std::vector<TokenId>> blocks;
    std::vector<std::size_t> items_of_blocks;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Expected<ItemTokens, EncodeFault> item = TokensOf(*tokens, items[i], most);
      if (!item) {
        return EncodeError(item.error(), TooManyPositions(MoreThan(limit), i), At("items", i));
      }
      auto fault = item->include_query ? list.AddPrompt(item->ids, i)
                                       : BlockFault(tokens->query(), item->ids, i);
      if (fault) {
        return fault;
      }
      if (!item->include_query) {
        blocks.push_back(std::move(item->ids));
        items_of_blocks.push_back(i);
      }
    }
    if (!blocks.empty()) {
      auto fault = VocabularyFault(tokens->query(), "query", checked_.context.config.vocab_size);
      if (!fault) {
        fault = list.AddPacked(blocks, items_of_blocks);
      }
      if (fault) {
        return fault;
      }
    }
    sequences = std::move(list).Take();
    return std::nullopt;
  }

 private:
  Expected<ItemTokens, EncodeFault> TokensOf(const JointTokens& tokens, const TextOrIds& item,
                                             std::int64_t most) const {
    if (!has_prompts_) {
      return tokens.Item(item, most);
    }
    Expected<std::vector<TokenId>, EncodeFault> prompt = tokens.Prompt(item, most);
    if (!prompt) {
      return Unexpected(prompt.error());
    }
    return ItemTokens{*std::move(prompt), /*include_query=*/true};
  }

  std::optional<Error> IdsFault() const {
    const ScoreRequest& request = checked_.request;
    if (IsText(request.query)) {
      return std::nullopt;
    }
    const std::int64_t vocab_size = checked_.context.config.vocab_size;
    auto fault = VocabularyFault(Ids(request.query), "query", vocab_size);
    for (std::size_t i = 0; i < request.items.size() && !fault; ++i) {
      fault = VocabularyFault(Ids(request.items[i]), At("items", i), vocab_size);
    }
    return fault;
  }

  /// The fault of the tokens of an item that follow those of the query.
  std::optional<Error> BlockFault(const std::vector<TokenId>& query,
                                  const std::vector<TokenId>& block, std::size_t item) const {
    const proto::ModelConfig& config = checked_.context.config;
    const auto rows = static_cast<std::int64_t>(query.size() + block.size());
    if (rows > config.max_position_embeddings) {
      return TooManyPositions(Exceeds(rows, config.max_position_embeddings), item);
    }
    return VocabularyFault(block, At("items", item), config.vocab_size);
  }

  const CheckedScore& checked_;
  const bool has_prompts_;  ///< Each item has a prompt of its own.
};

}  // namespace

/// The readout is a ScoreReadout. In multi-item mode, items are read in packed sequences; each item
/// whose tokens merge with the query's has a sequence of its own, before the packed ones or, under
/// SGLang's rules, behind them. One by one, each item has a sequence of its own. Without items
/// there is no sequence.
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
  const Expected<LabelLists> label_lists =
      ResolveLabels(request.label_token_ids, request.labels, request.items.size(),
                    context.tokenizer, context.config, context.stop);
  if (!label_lists) {
    return Unexpected(label_lists.error());
  }
  std::optional<TokenId> extraction_token;
  if (request.score_extraction_token) {
    const Expected<TokenId> token =
        ResolveToken(*request.score_extraction_token, "score_extraction_token", context.tokenizer,
                     context.config, context.stop);
    if (!token) {
      return Unexpected(token.error());
    }
    extraction_token = *token;
  }

  const bool sglang = context.options.has_sglang_rules();
  const CheckedScore checked = {request, *label_lists, extraction_token, context};
  PreparedRequest prepared;
  auto readout = std::make_shared<ScoreReadout>();
  readout->row = ReadoutOf(request, *kind);
  readout->item_first_ignored = sglang && request.item_first;
  auto fault = sglang ? PrepareAsSglang(checked, prepared.sequences, *readout)
                      : Preparation(checked).Prepare(prepared.sequences, *readout);
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
