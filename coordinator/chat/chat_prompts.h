#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/chat/chat_template.h"
#include "coordinator/chat/chat_tokens.h"
#include "coordinator/chat/conversation.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// How conversations become prompts of the model. Never changes.
class ChatPrompts {
 public:
  /// `tokenizer` must outlive the result. `is_one_of_several`: the model has further templates.
  ChatPrompts(ChatTemplate chat_template, const Tokenizer& tokenizer, std::string name,
              std::string reason, bool is_one_of_several = false)
      : template_(std::move(chat_template)),
        tokenizer_(tokenizer),
        tokens_(tokenizer),
        name_(std::move(name)),
        reason_(std::move(reason)),
        is_one_of_several_(is_one_of_several) {}

  const std::string& name() const { return name_; }  ///< The template's file.
  /// Why this template was taken. One line.
  const std::string& reason() const { return reason_; }
  const ChatTemplate& chat_template() const { return template_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  bool is_one_of_several() const { return is_one_of_several_; }

  /// The tokens of a rendered conversation, or of a part of one that is not `at_start`.
  proto::Expected<std::vector<TokenId>, EncodeFault> Tokens(const MarkedText& text,
                                                            const EncodeLimits& limits,
                                                            bool at_start = true) const {
    return tokens_.Encode(text, limits, at_start);
  }

  /// The text of a short conversation, for people.
  std::string Example() const;

 private:
  const ChatTemplate template_;
  const Tokenizer& tokenizer_;
  const ChatTokens tokens_;
  const std::string name_;
  const std::string reason_;
  const bool is_one_of_several_;
};

/// What LoadChatPrompts found. Either `prompts` is set, or `no_chat_reason` says in one line why
/// the server takes no messages.
struct LoadedChatPrompts {
  std::shared_ptr<const ChatPrompts> prompts;
  std::string no_chat_reason;
  bool has_template = false;  ///< Also if the template is not understood.
};

/// Takes the template of the file `template_flag` (the value of --chat-template) or, if that is
/// empty, the one of the model in `model_dir`. `tokenizer` may be null, and must outlive the
/// result. Throws StartupError, one line, if a file is malformed, or if the template of the flag is
/// not understood or the model has no tokenizer.
LoadedChatPrompts LoadChatPrompts(const std::filesystem::path& model_dir,
                                  const std::filesystem::path& template_flag,
                                  const Tokenizer* tokenizer);

/// The template of the flag, in which LoadTokenizer looks for control tokens; empty without a flag.
/// Throws StartupError if the file cannot be read.
std::string TextOfChatTemplate(const std::filesystem::path& template_flag);

}  // namespace scorecast::coordinator
