#include "coordinator/chat/text_messages.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <ranges>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/model_file.h"
#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;
using Ids = std::vector<TokenId>;

constexpr std::string_view kTask = "task";

/// Texts that stand for those of requests, of which the first characters and the lengths differ.
constexpr std::array<std::string_view, 2> kFillers = {"0", "1 2 3 4"};

TypedFault NotRendered(std::string why) {
  return {.kind = TypedFault::Kind::kNotRendered, .why = std::move(why)};
}

TypedFault FaultOf(const JinjaFault& fault) {
  constexpr std::size_t kMost = 1024;
  switch (fault.kind) {
    case JinjaFault::Kind::kStopped:
      return {.kind = TypedFault::Kind::kEncode, .encode = EncodeFault::kStopped};
    case JinjaFault::Kind::kRaised:
      return NotRendered(proto::Quoted(fault.what, kMost));
    case JinjaFault::Kind::kLimit:
    case JinjaFault::Kind::kTemplate:
    case JinjaFault::Kind::kLeftOut:
      break;
  }
  return NotRendered(proto::OneLine(fault.Text(), kMost));
}

JinjaValue ValueOf(const nlohmann::ordered_json& json) {
  if (json.is_object()) {
    std::vector<JinjaMember> members;
    for (const auto& [key, value] : json.items()) {
      members.push_back(MemberOfTemplate(key, ValueOf(value)));
    }
    return JinjaValue::OfMembers(std::move(members));
  }
  if (json.is_array()) {
    std::vector<JinjaValue> items;
    std::ranges::transform(json, std::back_inserter(items), &ValueOf);
    return JinjaValue::OfItems(std::move(items));
  }
  if (json.is_string()) {
    return JinjaValue::OfTemplate(json.get<std::string>());
  }
  if (json.is_boolean()) {
    return JinjaValue::OfBool(json.get<bool>());
  }
  if (json.is_number_float()) {
    return JinjaValue::OfNumber(json.get<double>());
  }
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) {
    return JinjaValue::OfDigits(json.dump());
  }
  return json.is_number() ? JinjaValue::OfInteger(json.get<std::int64_t>()) : JinjaValue::OfNone();
}

/// How many tokens two ranges begin with together.
template <typename A, typename B>
std::size_t CommonTokens(const A& a, const B& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - std::ranges::begin(a));
}

}  // namespace

Conversation ConversationOfTexts(const TextMessages& messages, std::string_view prompt,
                                 std::string_view task,
                                 const std::vector<std::string_view>& contents) {
  const MessageRules& rules = messages.rules();
  Conversation conversation{.arguments = messages.arguments(),
                            .add_generation_prompt = rules.add_generation_prompt,
                            .continue_final_message = rules.continue_final_message,
                            .keeps_lists = true,
                            .time = static_cast<std::int64_t>(std::time(nullptr))};
  const auto add = [&](std::string_view role, std::string_view text) {
    conversation.messages.push_back({.role = role,
                                     .texts = {text},
                                     .is_list = rules.format == MessageRules::Format::kStructured});
  };
  if (!prompt.empty()) {
    add("system", prompt);
  }
  const bool is_pair = contents.size() > 1;
  add(is_pair ? "query" : "user", contents.front());
  if (is_pair) {
    add("document", contents.back());
  }
  const bool is_given = std::ranges::find(conversation.arguments, kTask, &ChatVariable::name) !=
                        conversation.arguments.end();
  if (!task.empty() && !is_given) {
    conversation.arguments.push_back({kTask, JinjaValue::OfRequest(std::string(task))});
  }
  return conversation;
}

TextMessages::TextMessages(std::shared_ptr<const ChatPrompts> chat, MessageRules rules)
    : chat_(std::move(chat)), rules_(std::move(rules)) {
  if (rules_.format == MessageRules::Format::kAuto) {
    const bool has_parts = chat_->is_one_of_several() || chat_->chat_template().looks_for_parts();
    rules_.format = has_parts ? MessageRules::Format::kStructured : MessageRules::Format::kFlat;
  }
  for (const auto& [name, json] : rules_.arguments) {
    arguments_.push_back({name, ValueOf(nlohmann::ordered_json::parse(json))});
  }
  pair_fault_ = FindPairFault();
}

Expected<std::string, JinjaFault> TextMessages::PairText(std::string_view query,
                                                         std::string_view document) const {
  const Expected<MarkedText, JinjaFault> text =
      chat_->chat_template().Render(ConversationOfTexts(*this, "", "", {query, document}), nullptr);
  return text ? Expected<std::string, JinjaFault>(text->text()) : Unexpected(text.error());
}

/// A template may ignore roles that it does not know. Therefore pairs are rendered whose texts
/// differ, one at a time, and the results must differ, too.
std::string TextMessages::FindPairFault() const {
  const Expected<std::string, JinjaFault> usual = PairText("alpha", "bravo");
  const Expected<std::string, JinjaFault> other_query = PairText("charlie", "bravo");
  const Expected<std::string, JinjaFault> other_document = PairText("alpha", "foxtrot");
  std::string dropped;
  for (const auto& [other, role] :
       {std::pair(&other_query, "query"), std::pair(&other_document, "document")}) {
    for (const Expected<std::string, JinjaFault>* const text : {&usual, other}) {
      if (!*text) {
        return name() + " cannot render a message of the role query and one of document: " +
               proto::OneLine(text->error().Text(), 200);
      }
    }
    if (**other == *usual) {
      dropped += std::string(dropped.empty() ? "" : " and ") + role;
    }
  }
  return dropped.empty() ? "" : name() + " renders no text of messages of the role " + dropped;
}

MessageTokens::MessageTokens(const TextMessages& messages, const MessageOptions& options)
    : messages_(messages),
      options_(options),
      places_(TemplateOf(messages.chat().tokenizer(), /*adds_tokens=*/false)) {}

Expected<Ids, TypedFault> MessageTokens::Encode(const Contents& contents,
                                                const EncodeLimits& limits) const {
  const ChatPrompts& chat = messages_.chat();
  const Expected<MarkedText, JinjaFault> text = chat.chat_template().Render(
      ConversationOfTexts(messages_, options_.prompt, options_.task, contents),
      options_.interruption);
  if (!text) {
    return Unexpected(FaultOf(text.error()));
  }
  const auto fault = [](EncodeFault encode) {
    return Unexpected(TypedFault{.kind = TypedFault::Kind::kEncode, .encode = encode});
  };
  if (options_.special_tokens == SpecialTokensInText::kEscape) {
    Expected<Ids, EncodeFault> ids = chat.Tokens(*text, limits);
    return ids ? Expected<Ids, TypedFault>(*std::move(ids)) : fault(ids.error());
  }
  Expected<EncodedText, EncodeFault> encoded = chat.tokenizer().EncodeWithin(
      limits, text->text(), {.special_tokens = SpecialTokensInText::kAllow});
  return encoded ? Expected<Ids, TypedFault>(std::move(encoded->ids)) : fault(encoded.error());
}

Expected<Ids, TypedFault> MessageTokens::SuffixOf(std::size_t contents) const {
  std::optional<Ids>& suffix = suffixes_[contents - 1];
  if (!suffix) {
    const EncodeLimits limits = {.interruption = options_.interruption};
    const Expected<Ids, TypedFault> first = Encode(Contents(contents, kFillers[0]), limits);
    const Expected<Ids, TypedFault> second = Encode(Contents(contents, kFillers[1]), limits);
    if (!first || !second) {
      return first ? second : first;
    }
    suffix.emplace();
    const std::size_t count =
        CommonTokens(std::views::reverse(*first), std::views::reverse(*second));
    // Conversations that have all of one in common tell nothing.
    if (count < std::min(first->size(), second->size())) {
      suffix->assign(first->end() - static_cast<std::ptrdiff_t>(count), first->end());
    }
  }
  return *suffix;
}

Expected<TypedTokens, TypedFault> MessageTokens::TokensOf(const Contents& contents) const {
  const EncodeLimits limits = {
      .enough_tokens = EnoughTokens(places_.single, options_.truncation, 0),
      .interruption = options_.interruption};
  const Expected<Ids, TypedFault> ids = Encode(contents, limits);
  if (!ids) {
    return Unexpected(ids.error());
  }
  Expected<TypedTokens, TypedFault> typed =
      ApplyTemplate(places_, *ids, std::nullopt, options_.truncation);
  if (typed && messages_.rules().restores_suffix &&
      static_cast<std::int64_t>(typed->ids.size()) >= options_.truncation.max_length) {
    const Expected<Ids, TypedFault> suffix = SuffixOf(contents.size());
    if (!suffix) {
      return Unexpected(suffix.error());
    }
    const std::size_t count = std::min(suffix->size(), typed->ids.size());
    std::copy(suffix->end() - static_cast<std::ptrdiff_t>(count), suffix->end(),
              typed->ids.end() - static_cast<std::ptrdiff_t>(count));
  }
  return typed;
}

Expected<TypedTokens, TypedFault> MessageTokens::Of(std::string_view text) const {
  return TokensOf({text});
}

Expected<TypedTokens, TypedFault> MessageTokens::Of(std::string_view first,
                                                    std::string_view second) const {
  if (!messages_.pair_fault().empty()) {
    return Unexpected(NotRendered(messages_.pair_fault()));
  }
  return TokensOf({first, second});
}

Expected<Ids, TypedFault> MessageTokens::PrefixOf(std::string_view first) const {
  const EncodeLimits limits = {
      .enough_tokens = EnoughTokens(places_.single, options_.truncation, 0),
      .interruption = options_.interruption};
  Expected<Ids, TypedFault> prefix = Encode({first, kFillers[0]}, limits);
  if (!prefix) {
    return prefix;
  }
  const Expected<Ids, TypedFault> other = Encode({first, kFillers[1]}, limits);
  if (!other) {
    return other;
  }
  prefix->resize(CommonTokens(*prefix, *other));
  return prefix;
}

Expected<std::shared_ptr<const TextMessages>, std::string> FindTextMessages(
    const std::filesystem::path& model_dir, const TransformerModule& module,
    const LoadedChatPrompts& chat) {
  using Result = Expected<std::shared_ptr<const TextMessages>, std::string>;
  const bool is_by_default =
      !module.messages && chat.has_template && !ModelFileExists(model_dir / "modules.json");
  if (!module.messages && !is_by_default) {
    return Result(nullptr);
  }
  const std::string where =
      is_by_default ? "sentence-transformers puts texts through the model's chat template"
                    : module.origin + ": modality_config.message";
  if (chat.prompts == nullptr) {
    return Unexpected(where + ": " + chat.no_chat_reason);
  }
  const MessageRules rules = module.messages.value_or(MessageRules());
  for (const auto& [name, json] : rules.arguments) {
    if (!chat.prompts->chat_template().TakesArgument(name)) {
      return Unexpected(module.origin + ": processing_kwargs.chat_template." +
                        proto::OneLine(name, 80) +
                        ": not supported, because all conversations have this variable");
    }
  }
  return Result(std::make_shared<const TextMessages>(chat.prompts, rules));
}

std::string LoadedTexts::Text() const {
  std::string text =
      messages == nullptr ? "" : "texts are messages, which " + messages->name() + " renders";
  const auto add = [&](bool is_other, const std::string& what) {
    text += is_other ? (text.empty() ? "" : "; ") + what : "";
  };
  add(!module.adds_tokens, "the tokenizer adds no tokens");
  add(module.truncation.empty(), "texts are cut at the model's positions alone");
  add(module.truncation.starts_with("only_"), "pairs are cut by " + module.truncation);
  for (const auto& [length, what] : {std::pair(&module.query_length, "queries"),
                                     std::pair(&module.document_length, "documents")}) {
    add(length->has_value(),
        std::string(what) + " have up to " + proto::Count(length->value_or(0), "token"));
  }
  return text;
}

LoadedTexts LoadTexts(const std::filesystem::path& model_dir, const proto::ModelConfig& config,
                      const LoadedChatPrompts& chat) {
  LoadedTexts texts;
  const std::string task = TaskOfModule(model_dir);
  const bool is_own = config.is_embedder()     ? task == "feature-extraction"
                      : config.is_classifier() ? task != "text-generation"
                                               : task == "text-generation";
  if (!is_own) {
    return texts;
  }
  texts.module = ReadTransformerModule(model_dir);
  const bool is_language_model = !config.is_embedder() && !config.is_classifier();
  if (config.is_embedder() || (texts.module.messages && !is_language_model)) {
    Expected<std::shared_ptr<const TextMessages>, std::string> messages =
        FindTextMessages(model_dir, texts.module, chat);
    if (!messages) {
      throw proto::StartupError(messages.error());
    }
    texts.messages = *std::move(messages);
  }
  return texts;
}

}  // namespace scorecast::coordinator
