#include "coordinator/chat/chat_prompts.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <system_error>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"
#include "coordinator/text/files/sentence_bert_config.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::StartupError;

struct TemplateSource {
  std::string text;
  std::string origin;
  bool is_one_of_several = false;
};

/// Calls `read` with the root of a JSON file, if the file exists.
template <typename Read>
void ReadJson(const std::filesystem::path& file, const Read& read) {
  if (ModelFileExists(file)) {
    const nlohmann::json document = ParseJsonFile(ReadModelFile(file), file.string());
    read(JsonCursor(document, file.string()));
  }
}

/// The template of `chat_template`: a text, or the one called "default" of a list.
std::optional<std::string> DefaultTemplate(const JsonCursor& chat_template) {
  if (!chat_template.value().is_array()) {
    return chat_template.String();
  }
  std::optional<std::string> text;
  chat_template.ForEachElement([&](const JsonCursor& entry) {
    if (!text && entry.At("name").String() == "default") {
      text = entry.At("template").String();
    }
  });
  return text;
}

bool HasFurther(const std::filesystem::path& model_dir) {
  std::error_code none;  // The directory is usually absent.
  const std::filesystem::directory_iterator files(model_dir / "additional_chat_templates", none);
  return std::any_of(begin(files), end(files),
                     [](const auto& entry) { return entry.path().extension() == ".jinja"; });
}

/// As in transformers, an argument of the tokenizer comes before a file of its own, and this before
/// the configuration of the tokenizer.
std::optional<TemplateSource> FindTemplate(const std::filesystem::path& model_dir) {
  const SentenceBertConfig sentence = LoadSentenceBertConfig(model_dir);
  if (sentence.processor_kwargs.contains("chat_template")) {
    const std::string origin = sentence.origin + ": processor_kwargs";
    const std::optional<JsonCursor> given =
        JsonCursor(sentence.processor_kwargs, origin).Find("chat_template");
    return given ? std::optional(TemplateSource{given->String(), origin}) : std::nullopt;
  }
  const std::filesystem::path jinja = model_dir / "chat_template.jinja";
  if (ModelFileExists(jinja)) {
    return TemplateSource{ReadModelFile(jinja), "chat_template.jinja", HasFurther(model_dir)};
  }
  std::optional<TemplateSource> source;
  for (const char* const name : {"tokenizer_config.json", "chat_template.json"}) {
    ReadJson(model_dir / name, [&](const JsonCursor& root) {
      const std::optional<JsonCursor> chat_template = root.Find("chat_template");
      const std::optional<std::string> text =
          chat_template ? DefaultTemplate(*chat_template) : std::nullopt;
      if (!source && text) {
        source = {*text, name, chat_template->value().is_array()};
      }
    });
  }
  return source;
}

/// The special tokens that a template knows by name, such as bos_token.
ChatTemplate::Constants NamedTokens(const std::filesystem::path& model_dir,
                                    const Tokenizer& tokenizer) {
  ChatTemplate::Constants tokens;
  for (const char* const file : {"tokenizer_config.json", "special_tokens_map.json"}) {
    ReadJson(model_dir / file, [&](const JsonCursor& root) {
      for (const char* const name : {"bos_token", "eos_token", "unk_token", "sep_token",
                                     "pad_token", "cls_token", "mask_token"}) {
        const std::optional<JsonCursor> token = root.Find(name);
        const bool is_known =
            std::ranges::find(tokens, name, &ChatTemplate::Constants::value_type::first) !=
            tokens.end();
        if (token && !is_known) {
          tokens.emplace_back(
              name, token->value().is_object() ? token->At("content").String() : token->String());
        }
      }
    });
  }
  const bool has_bos =
      std::ranges::find(tokens, "bos_token", &ChatTemplate::Constants::value_type::first) !=
      tokens.end();
  if (!has_bos && tokenizer.bos()) {
    tokens.emplace_back("bos_token", tokenizer.Decode(std::vector<TokenId>{*tokenizer.bos()}));
  }
  return tokens;
}

Conversation ExampleConversation() {
  Conversation conversation;
  conversation.messages.push_back({.role = "user", .texts = {"Hello"}});
  conversation.time = static_cast<std::int64_t>(std::time(nullptr));
  return conversation;
}

}  // namespace

std::string ChatPrompts::Example() const {
  const Expected<MarkedText, JinjaFault> text = template_.Render(ExampleConversation(), nullptr);
  return text ? text->text() : text.error().Text();
}

std::string TextOfChatTemplate(const std::filesystem::path& template_flag) {
  return template_flag.empty() ? "" : proto::ReadRegularFile(template_flag);
}

LoadedChatPrompts LoadChatPrompts(const std::filesystem::path& model_dir,
                                  const std::filesystem::path& template_flag,
                                  const Tokenizer* tokenizer) {
  const bool is_given = !template_flag.empty();
  const auto none = [&](const std::string& reason) -> LoadedChatPrompts {
    if (is_given) {
      throw StartupError("--chat-template " + proto::OneLinePath(template_flag.string()) + ": " +
                         reason);
    }
    return {nullptr, reason, false};
  };
  if (tokenizer == nullptr) {
    return none("the model directory has no tokenizer");
  }
  const std::optional<TemplateSource> source =
      is_given ? TemplateSource{TextOfChatTemplate(template_flag), template_flag.string()}
               : FindTemplate(model_dir);
  if (!source) {
    return none("the model directory has no chat template");
  }
  Expected<ChatTemplate, JinjaFault> chat_template =
      ChatTemplate::Parse(source->text, NamedTokens(model_dir, *tokenizer));
  if (!chat_template) {
    LoadedChatPrompts loaded =
        none((is_given ? "" : source->origin + ": ") + chat_template.error().Text());
    loaded.has_template = true;
    return loaded;
  }
  return {std::make_shared<const ChatPrompts>(
              *std::move(chat_template), *tokenizer, source->origin,
              is_given ? "--chat-template names it" : "the model directory has it",
              source->is_one_of_several),
          "", true};
}

}  // namespace scorecast::coordinator
