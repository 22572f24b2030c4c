#include "coordinator/endpoints/decisions/systemone_request.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/decisions/systemone_checks.h"
#include "coordinator/endpoints/decisions/systemone_readout.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/json/json_writer.h"
#include "coordinator/prompts/prompt_packer.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

std::string AsJson(const v1::TextOrJson& value) {
  if (!value.has_text()) {
    return value.json();
  }
  std::string json;
  JsonWriter(json).Text(value.text());
  return json;
}

/// Upper bound on the bytes of AsJson.
std::int64_t JsonBytes(const v1::TextOrJson& value) {
  constexpr std::int64_t kEscape = 6;  // \u0000
  std::int64_t bytes = 2 + static_cast<std::int64_t>(value.json().size());
  for (const char c : value.text()) {
    const bool is_escaped = static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
    bytes += is_escaped ? kEscape : 1;
  }
  return bytes;
}

/// A prompt behind the state: one order of a question.
struct Item {
  std::size_t question = 0;
  bool is_reversed = false;
};

class SystemOnePreparation {
 public:
  SystemOnePreparation(const v1::SystemOneRequest& request, const RequestContext& context)
      : request_(request), context_(context), decider_(*context.options.decider) {}

  Expected<PreparedRequest> Prepare() {
    const Expected<std::string_view> state = StateText(request_.state(), decider_, state_text_);
    if (!state) {
      return Unexpected(state.error());
    }
    for (const v1::NamedQuestion& question : request_.questions()) {
      Expected<CheckedQuestion> checked =
          CheckQuestion(question, decider_, request_.x_orders() == 2);
      if (!checked) {
        return Unexpected(std::move(checked).error());
      }
      AddItems(*checked);
      questions_.push_back(*std::move(checked));
    }
    PromptPacker packer("questions", items_.size(),
                        {.label_lists = label_lists_, .second_reads = request_.x_label_mass()},
                        context_.limits);
    if (auto fault = Pack(*state, packer)) {
      return Unexpected(*std::move(fault));
    }
    PackedPrompts packed = std::move(packer).Take();
    PreparedRequest prepared;
    prepared.readout = Readout(packed);
    prepared.sequences = std::move(packed.sequences);
    return prepared;
  }

 private:
  /// The prompts of a question that is about to be added.
  void AddItems(const CheckedQuestion& question) {
    const std::size_t size = question.options.size();
    if (size < 2) {
      return;
    }
    const bool has_orders =
        request_.x_orders() == 2 &&
        decider_.DependsOnOrder({.type = question.type, .options = question.options});
    for (int order = 0; order < (has_orders ? 2 : 1); ++order) {
      items_.push_back({questions_.size(), /*is_reversed=*/order == 1});
      label_lists_.push_back(decider_.labels().Tokens(question.type, size));
    }
  }

  std::optional<Error> Pack(std::string_view state, PromptPacker& packer) const {
    const std::int64_t limit = context_.config.max_position_embeddings;
    const EncodeLimits limits = {.max_tokens = CountedTokens(limit),
                                 .interruption = context_.interruption};
    if (items_.empty()) {
      return std::nullopt;  // Nothing is computed.
    }
    Expected<std::vector<TokenId>, EncodeFault> prefix = decider_.Prefix(state, limits);
    if (!prefix) {
      return EncodeError(prefix.error(), TooLong("state", FarExceeds(limit)), "state");
    }
    if (auto fault = VocabularyFault(*prefix, "state", context_.config.vocab_size)) {
      return fault;
    }
    const auto prefix_tokens = static_cast<std::int64_t>(prefix->size());
    if (prefix_tokens > limit) {
      return TooLong("state", Exceeds(prefix_tokens, limit));
    }
    packer.Begin(*std::move(prefix));
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const CheckedQuestion& question = questions_[items_[i].question];
      Expected<std::vector<TokenId>, EncodeFault> tokens =
          decider_.Question({.type = question.type,
                             .instructions = question.instructions,
                             .options = question.options,
                             .is_reversed = items_[i].is_reversed},
                            limits);
      const std::string& field = question.field;
      if (!tokens) {
        return EncodeError(tokens.error(), TooLong("state and " + field, FarExceeds(limit)), field);
      }
      const std::int64_t rows = prefix_tokens + static_cast<std::int64_t>(tokens->size());
      if (rows > limit) {
        return TooLong("state and " + field, Exceeds(rows, limit), field);
      }
      if (auto fault = VocabularyFault(*tokens, field, context_.config.vocab_size)) {
        return fault;
      }
      if (auto fault = packer.Add(i, {.ids = *std::move(tokens)})) {
        return Renamed(*std::move(fault));
      }
    }
    std::optional<Error> fault = packer.PackBlocks();
    return fault ? Renamed(*std::move(fault)) : fault;
  }

  static Error TooLong(const std::string& what, const std::string& positions,
                       const std::string& field = "state") {
    return BadRequest("too_many_positions",
                      "Too many positions: " + positions + " (" + what + ")." + kNothingIsCut,
                      field);
  }

  /// The fault of a prompt that can never be computed, with the question's name instead of the
  /// prompt's number.
  std::optional<Error> Renamed(Error fault) const {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (fault.param == At("questions", i)) {
        fault.param = questions_[items_[i].question].field;
        break;
      }
    }
    return fault;
  }

  std::shared_ptr<SystemOneReadout> Readout(const PackedPrompts& packed) const {
    auto readout = std::make_shared<SystemOneReadout>();
    readout->decider = context_.options.decider;
    readout->has_label_mass = request_.x_label_mass();
    readout->prompt_tokens = packed.prompt_tokens;
    readout->questions.reserve(questions_.size());
    for (std::size_t i = 0; i < questions_.size(); ++i) {
      SystemOneReadout::Question& question = readout->questions.emplace_back();
      const v1::NamedQuestion& given = request_.questions(static_cast<int>(i));
      question.id = given.key();
      question.field = questions_[i].field;
      question.type = questions_[i].type;
      if (question.type == DecisionType::kChoice) {
        for (const v1::DecisionOption& option : given.value().criteria().options().options()) {
          question.texts.push_back(option.key());
        }
      } else if (question.type == DecisionType::kScore) {
        for (const v1::TextOrJson& level : given.value().criteria().levels().levels()) {
          question.texts.push_back(AsJson(level));
        }
      }
    }
    for (std::size_t i = 0; i < items_.size(); ++i) {
      readout->questions[items_[i].question].rows.push_back(
          {packed.items[i].sequence, packed.items[i].first});
    }
    return readout;
  }

  const v1::SystemOneRequest& request_;
  const RequestContext& context_;
  const Decider& decider_;
  std::string state_text_;
  std::vector<CheckedQuestion> questions_;
  std::vector<Item> items_;
  std::vector<proto::LabelList> label_lists_;  ///< [items]
};

}  // namespace

Expected<PreparedRequest> PrepareSystemOne(MessageRequest<v1::SystemOneRequest> request,
                                           const RequestContext& context,
                                           const OnDelta& /*on_delta*/) {
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  if (auto fault = RequestFault(request.message, context)) {
    return Unexpected(*std::move(fault));
  }
  return SystemOnePreparation(request.message, context).Prepare();
}

std::int64_t SystemOneResponseBytesBound(const MessageRequest<v1::SystemOneRequest>& request,
                                         const proto::ModelConfig& /*config*/) {
  constexpr std::int64_t kNameBytes = 6 + 2;  // A tag, a length, and quotation marks.
  std::int64_t bytes = kOtherBytes;
  for (const v1::NamedQuestion& question : request.message.questions()) {
    bytes += kOtherBytes + EscapedTextBytes(question.key());
    const v1::DecisionCriteria& criteria = question.value().criteria();
    std::int64_t longest = 0;
    for (const v1::DecisionOption& option : criteria.options().options()) {
      const std::int64_t name = EscapedTextBytes(option.key());
      longest = std::max(longest, name);
      bytes += kNameBytes + name + kNumberBytes;
    }
    bytes += longest;  // The choice.
    for (const v1::TextOrJson& level : criteria.levels().levels()) {
      bytes += 2 * kNameBytes + JsonBytes(level) + kNumberBytes;
    }
  }
  return bytes;
}

}  // namespace scorecast::coordinator
