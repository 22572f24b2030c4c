#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/chat/conversation.h"
#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_syntax.h"
#include "coordinator/chat/marked_text.h"
#include "coordinator/text/models/interruption.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A model's chat template, rendered as transformers' apply_chat_template renders it. Never
/// changes.
class ChatTemplate {
 public:
  /// Variables of the template that the model directory gives, such as bos_token.
  using Constants = std::vector<std::pair<std::string, std::string>>;

  /// A fault if the template is not understood: it names what this subset of Jinja has not.
  static proto::Expected<ChatTemplate, JinjaFault> Parse(std::string_view source,
                                                         Constants constants);

  /// The text of a conversation. A fault if the template refuses the conversation, or if there is
  /// too much to do. `interruption` may be null.
  proto::Expected<MarkedText, JinjaFault> Render(const Conversation& conversation,
                                                 const Interruption* interruption) const;

  /// Whether `chat_template_kwargs` may have a member of this name: it is none of the variables
  /// that every conversation has.
  bool TakesArgument(std::string_view name) const;

  /// Whether the template's text looks as if contents must be lists of parts. This is
  /// sentence-transformers' guess (base/modality.py, version 6.2).
  bool looks_for_parts() const { return looks_for_parts_; }
  /// Whether the template has the name of a message's member, and is likely to read it.
  bool NamesMember(std::string_view name) const;

 private:
  ChatTemplate() = default;

  MarkedText RenderMessages(const Conversation& conversation, std::string_view tag,
                            const Interruption* interruption) const;
  JinjaValue MessageOf(const ChatMessage& message, std::string_view tag, bool keeps_lists) const;
  JinjaValue ContentOf(const ChatMessage& message, std::string_view tag, bool keeps_lists) const;

  JinjaBody body_;
  Constants constants_;
  JinjaNames words_;          ///< Words of the template's source.
  bool takes_parts_ = false;  ///< Goes through the parts of a content that is a list.
  bool looks_for_parts_ = false;
  bool names_developer_ = false;  ///< Knows the role of this name.
};

}  // namespace scorecast::coordinator
