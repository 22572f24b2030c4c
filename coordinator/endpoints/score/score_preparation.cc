#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "coordinator/endpoints/score/likelihood.h"
#include "coordinator/endpoints/score/score_checks.h"
#include "coordinator/endpoints/score/score_readout.h"
#include "coordinator/endpoints/score/score_request.h"
#include "coordinator/endpoints/score/sglang_preparation.h"
#include "coordinator/endpoints/score/whole_preparation.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/prompts/joint_tokens.h"
#include "coordinator/prompts/prompt_packer.h"
#include "coordinator/request/labels.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/score_kind.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

RowReadout ReadoutOf(const v1::ScoreRequest& request, ScoreKind kind) {
  RowReadout readout;
  readout.kind = kind;
  readout.temperature = request.temperature();
  readout.token_logprobs = request.return_token_logprobs();
  readout.top_logprobs = request.top_logprobs() > 0;
  return readout;
}

/// Says in the readout where each item's rows are, and returns the sequences.
std::vector<proto::PackedSequence> AddReads(PackedPrompts packed, bool is_setwise,
                                            ScoreReadout& readout) {
  std::vector<std::size_t> first_rows;  // [sequences]
  std::size_t rows = 0;
  for (const proto::PackedSequence& sequence : packed.sequences) {
    first_rows.push_back(rows);
    rows += sequence.reads.size();
  }
  for (const PackedPrompts::ItemReads& reads : packed.items) {
    readout.item_rows.push_back(first_rows[reads.sequence] + reads.first -
                                (readout.query_row ? 1 : 0));
  }
  if (is_setwise) {
    readout.occurrences.emplace();
    for (const PackedPrompts::ItemReads& reads : packed.items) {
      readout.occurrences->push_back(static_cast<std::int64_t>(reads.count));
    }
  }
  readout.prompt_tokens += packed.prompt_tokens;
  return std::move(packed.sequences);
}

void WarnOfItemFirst() {
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true)) {
    proto::LogWarning("item_first is ignored with --enable-mis or a delimiter (logged once)");
  }
}

/// Packs the query and the items one after the other; or makes a prompt for each item, if the
/// server scores one by one or items come first. Each item is limited by itself.
class Preparation {
 public:
  explicit Preparation(const CheckedScore& checked)
      : checked_(checked),
        has_prompts_(checked.context.options.one_by_one || checked.request.item_first()) {}

  std::optional<Error> Prepare(PromptPacker& packer) const {
    const std::vector<TextOrIds>& items = checked_.items;
    const std::int64_t limit = checked_.context.config.max_position_embeddings;
    const std::int64_t most = CountedTokens(limit);
    const Expected<JointTokens, EncodeFault> tokens =
        JointTokens::Make(checked_.query, JointOptionsOf(checked_), most);
    if (!tokens && items.empty() && tokens.error() != EncodeFault::kStopped) {
      return std::nullopt;  // Nothing is computed.
    }
    if (!tokens) {
      return EncodeError(tokens.error(), TooManyPositions(FarExceeds(limit), 0), "query");
    }
    if (auto fault = QueryFault(tokens->query(), checked_.extraction_token)) {
      return fault;
    }
    if (auto fault = IdsFault()) {
      return fault;
    }
    packer.Begin(tokens->query());
    bool has_blocks = false;
    std::optional<Error> row_fault;  // The first of the blocks'.
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (auto fault = StopFault(checked_.context.interruption)) {
        return fault;
      }
      Expected<Continuation, EncodeFault> item =
          has_prompts_ ? tokens->Prompt(items[i], most) : tokens->Item(items[i], most);
      if (!item) {
        return EncodeError(item.error(), TooManyPositions(FarExceeds(limit), i), At("items", i));
      }
      const proto::ModelConfig& config = checked_.context.config;
      auto fault = item->is_whole ? PromptFault(item->ids, i, config)
                                  : BlockFault(tokens->query(), item->ids, i);
      if (fault) {
        return fault;
      }
      if (checked_.request.likelihood() &&
          item->ids.size() <= (item->is_whole ? tokens->query().size() : 0)) {
        return BadRequest("empty_item", At("items", i) + " has no token of its own.",
                          At("items", i));
      }
      has_blocks = has_blocks || !item->is_whole;
      Expected<std::vector<std::int32_t>> rows = RowsRead(checked_, i, item->ids);
      if (!rows && item->is_whole) {
        return rows.error();
      }
      if (!rows) {
        row_fault = row_fault ? row_fault : rows.error();
        continue;
      }
      if (auto capacity_fault = packer.Add(i, *std::move(item), *std::move(rows))) {
        return capacity_fault;
      }
    }
    if (has_blocks) {
      if (auto fault =
              VocabularyFault(tokens->query(), "query", checked_.context.config.vocab_size)) {
        return fault;
      }
    }
    return row_fault ? row_fault : packer.PackBlocks();
  }

 private:
  std::optional<Error> IdsFault() const {
    if (IsText(checked_.query)) {
      return std::nullopt;
    }
    const std::int64_t vocab_size = checked_.context.config.vocab_size;
    auto fault = VocabularyFault(Ids(checked_.query), "query", vocab_size);
    for (std::size_t i = 0; i < checked_.items.size() && !fault; ++i) {
      fault = VocabularyFault(Ids(checked_.items[i]), At("items", i), vocab_size);
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

Expected<PreparedRequest> PrepareLikelihood(const v1::ScoreRequest& request,
                                            const RequestContext& context) {
  const TextOrIds query = ViewOf(request.query());
  const std::vector<TextOrIds> items = ViewsOf(request.items());
  if (auto fault = TextOrIdsFault(query, items, context)) {
    return Unexpected(*std::move(fault));
  }
  const LabelLists no_labels{.lists = {proto::LabelList()}};
  const CheckedScore checked = {request, query, items, no_labels, std::nullopt, context};
  PromptPacker packer(
      "items", items.size(),
      {.label_lists = no_labels.lists, .normalizer = true, .top_k = 1, .likelihood = true},
      context.limits);
  if (auto fault = Preparation(checked).Prepare(packer)) {
    return Unexpected(*std::move(fault));
  }
  PreparedRequest prepared;
  auto readout = std::make_shared<LikelihoodReadout>();
  AddLikelihoods(std::move(packer).Take(), request, context, *readout, prepared);
  prepared.readout = std::move(readout);
  return prepared;
}

GivenLabels LabelsOf(const MessageRequest<v1::ScoreRequest>& request) {
  GivenLabels given;
  ViewIds(request.message.label_token_ids(), given);
  if (request.message.labels_size() > 0 ||
      request.IsEmptyList(v1::ScoreRequest::kLabelsFieldNumber)) {
    given.texts = ViewsOf(request.message.labels());
  }
  return given;
}

}  // namespace

Expected<PreparedRequest> PrepareScore(MessageRequest<v1::ScoreRequest> own,
                                       const RequestContext& context, const OnDelta& /*on_delta*/) {
  const v1::ScoreRequest& request = own.message;
  const Expected<ScoreKind> kind = ResolveScoreKind(
      request.has_activation() ? std::optional(request.activation()) : std::nullopt,
      request.apply_softmax(), context.config);
  if (!kind) {
    return Unexpected(kind.error());
  }
  if (auto fault = FieldFault(own, *kind, context)) {
    return Unexpected(*std::move(fault));
  }
  if (auto fault = WholeFieldFault(request, context)) {
    return Unexpected(*std::move(fault));
  }
  if (auto fault = LikelihoodFault(own, context)) {
    return Unexpected(*std::move(fault));
  }
  if (request.likelihood()) {
    return PrepareLikelihood(request, context);
  }
  const TextOrIds query = ViewOf(request.query());
  const std::vector<TextOrIds> items = ViewsOf(request.items());
  if (auto fault = TextOrIdsFault(query, items, context)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<LabelLists> label_lists = ResolveLabels(
      LabelsOf(own), items.size(), context.tokenizer, context.config, context.interruption);
  if (!label_lists) {
    return Unexpected(label_lists.error());
  }
  std::optional<TokenId> extraction_token;
  if (request.has_score_extraction_token()) {
    const Expected<TokenId> token =
        ResolveToken(ViewOf(request.score_extraction_token()), "score_extraction_token",
                     context.tokenizer, context.config, context.interruption);
    if (!token) {
      return Unexpected(token.error());
    }
    extraction_token = *token;
  }

  const bool sglang = context.options.has_sglang_rules();
  const CheckedScore checked = {request, query, items, *label_lists, extraction_token, context};
  PreparedRequest prepared;
  auto readout = std::make_shared<ScoreReadout>();
  readout->row = ReadoutOf(request, *kind);
  if (context.config.read_head) {
    Expected<std::vector<proto::PackedSequence>> sequences = PrepareWhole(checked, *readout);
    if (!sequences) {
      return Unexpected(std::move(sequences).error());
    }
    prepared.sequences = *std::move(sequences);
    prepared.readout = std::move(readout);
    return prepared;
  }
  readout->item_first_ignored = sglang && request.item_first();
  PromptPacker packer("items", items.size(),
                      {.label_lists = label_lists->lists,
                       .normalizer = readout->row.NeedsNormalizer(),
                       .top_k = static_cast<std::int32_t>(request.top_logprobs())},
                      context.limits);
  auto fault =
      sglang ? PrepareAsSglang(checked, packer, *readout) : Preparation(checked).Prepare(packer);
  if (fault) {
    return Unexpected(*std::move(fault));
  }
  prepared.sequences = AddReads(std::move(packer).Take(), extraction_token.has_value(), *readout);
  if (readout->item_first_ignored) {
    WarnOfItemFirst();
  }
  prepared.readout = std::move(readout);
  return prepared;
}

}  // namespace scorecast::coordinator
