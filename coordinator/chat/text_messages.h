#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/chat/conversation.h"
#include "coordinator/text/files/transformer_module.h"
#include "coordinator/text/typed_tokens.h"
#include "proto/base/expected.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// How the texts of an embedder or a cross-encoder become conversations, as in
/// sentence-transformers (base/modules/transformer.py and base/modality.py, version 6.2): a text is
/// a message of the user, and a pair is one message of the role `query` and one of `document`. A
/// prompt is a system message before them. Never changes.
class TextMessages {
 public:
  TextMessages(std::shared_ptr<const ChatPrompts> chat, MessageRules rules);

  /// The template's file.
  const std::string& name() const { return chat_->name(); }
  const ChatPrompts& chat() const { return *chat_; }
  const MessageRules& rules() const { return rules_; }
  /// Further variables of the template.
  const std::vector<ChatVariable>& arguments() const { return arguments_; }
  bool has_parts() const { return rules_.format == MessageRules::Format::kStructured; }
  /// Why the template cannot render pairs, as a clause: sentence-transformers refuses them, too.
  /// Empty if it can.
  const std::string& pair_fault() const { return pair_fault_; }

 private:
  std::string FindPairFault() const;
  proto::Expected<std::string, JinjaFault> PairText(std::string_view query,
                                                    std::string_view document) const;

  const std::shared_ptr<const ChatPrompts> chat_;
  MessageRules rules_;  ///< The format is not kAuto.
  std::vector<ChatVariable> arguments_;
  std::string pair_fault_;
};

/// The conversation of a text, or of the two texts of a pair. If `task` is empty, the template's
/// variable is not defined. The result has views of the arguments.
Conversation ConversationOfTexts(const TextMessages& messages, std::string_view prompt,
                                 std::string_view task,
                                 const std::vector<std::string_view>& contents);

/// What the messages of one request have in common. Views must outlive whoever has the options.
struct MessageOptions {
  std::string_view prompt;  ///< The system message. Empty: there is none.
  std::string_view task;    ///< The template's variable `task`. Empty: not defined.
  Truncation truncation;
  SpecialTokensInText special_tokens = SpecialTokensInText::kAllow;
  const Interruption* interruption = nullptr;
};

/// The tokens of the texts of one request, each a conversation. The tokenizer adds none of its own.
/// If a conversation has as many tokens as the truncation allows, its last ones are replaced by
/// those with which the template ends all conversations of its form. Not to be used by several
/// threads at the same time.
class MessageTokens {
 public:
  /// `messages` must outlive the result.
  MessageTokens(const TextMessages& messages, const MessageOptions& options);

  // The tokens of a text, or of a pair. Texts must be valid UTF-8.

  proto::Expected<TypedTokens, TypedFault> Of(std::string_view text) const;
  proto::Expected<TypedTokens, TypedFault> Of(std::string_view first,
                                              std::string_view second) const;

  /// The tokens that pairs with this first text begin with, unless some of the second text merge
  /// with them.
  proto::Expected<std::vector<TokenId>, TypedFault> PrefixOf(std::string_view first) const;

 private:
  using Ids = std::vector<TokenId>;
  using Contents = std::vector<std::string_view>;  ///< Of one text, or of two.

  proto::Expected<Ids, TypedFault> Encode(const Contents& contents,
                                          const EncodeLimits& limits) const;
  proto::Expected<TypedTokens, TypedFault> TokensOf(const Contents& contents) const;
  proto::Expected<Ids, TypedFault> SuffixOf(std::size_t contents) const;

  const TextMessages& messages_;
  const MessageOptions options_;
  const TokenTemplate places_;
  /// The last tokens of conversations of one text and of two, once they are known.
  mutable std::array<std::optional<Ids>, 2> suffixes_;
};

/// How the texts of the model in `model_dir` become messages, as sentence-transformers decides it:
/// as `module` says or, if there is no modules.json, by the model's chat template if it has one.
/// Null if texts are plain. A fault, one line, if there is no template, or one that is not
/// understood.
proto::Expected<std::shared_ptr<const TextMessages>, std::string> FindTextMessages(
    const std::filesystem::path& model_dir, const TransformerModule& module,
    const LoadedChatPrompts& chat);

/// How a model makes tokens of texts and pairs.
struct LoadedTexts {
  TransformerModule module;
  std::shared_ptr<const TextMessages> messages;  ///< Null if texts are plain.

  /// One line, for people; empty if all is as by default.
  std::string Text() const;
};

/// Reads it from the files of the model in `model_dir`. Files that are for another task do not count.
/// As in transformers' pipelines, texts of a classifier are plain unless sentence_bert_config.json
/// says otherwise. A language model has no messages, but its pairs may: see Reranker. Throws
/// StartupError if a file is malformed or says something that is not supported.
LoadedTexts LoadTexts(const std::filesystem::path& model_dir, const proto::ModelConfig& config,
                      const LoadedChatPrompts& chat);

}  // namespace scorecast::coordinator
