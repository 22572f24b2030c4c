#include "coordinator/text/files/transformer_module.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"
#include "coordinator/text/files/sentence_bert_config.h"
#include "proto/base/one_line.h"
#include "proto/model/key_tables.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;

/// Calls `member` with the name and the value of each member of an object; the value is nullopt for
/// null.
template <typename Member>
void ForEachMember(const JsonCursor& object, const Member& member) {
  if (!object.value().is_object()) {
    object.Fail("not an object");
  }
  for (const auto& [name, value] : object.value().items()) {
    member(name, object.Find(name));
  }
}

/// Arguments of a call of transformers' tokenizer. Objects that are taken later count more.
class CallArguments {
 public:
  /// Takes a member of an object of `processing_kwargs` if it says how long a text is.
  void TakeLength(const std::string& name, const std::optional<JsonCursor>& value) {
    if (name == "max_length") {
      has_max_length_ = true;
      max_length_ = value ? std::optional(value->Integer(1, kMostTokens)) : std::nullopt;
    } else if (name == "truncation") {
      truncation_ = value ? std::optional(Truncation(*value)) : std::nullopt;
    } else if (name == "padding" && value) {
      pads_ = value->value() != false && value->value() != "do_not_pad";
      pads_to_length_ = value->value() == "max_length";
    }
  }

  /// Takes any member of `object`.
  void Take(const JsonCursor& object, const std::string& name,
            const std::optional<JsonCursor>& value) {
    TakeLength(name, value);
    if (name == "add_special_tokens") {
      if (!value) {
        object.Fail("add_special_tokens: null is not supported");
      }
      adds_tokens_ = value->Bool();
    } else if (name == "padding_side") {
      pads_left_ = value && value->value() == "left";
    }
  }

  /// Makes the limit one that gives way to `query_length` and `document_length`.
  void YieldMaxLength() { has_max_length_ = false; }

  /// `object` is named in faults.
  void Finish(const JsonCursor& object, TransformerModule& module) const {
    if (pads_to_length_ && pads_left_) {
      object.Fail("padding: max_length is not supported with padding_side left");
    }
    module.adds_tokens = adds_tokens_;
    module.max_length = max_length_;
    const bool cuts_by_length = !pads_ && max_length_.has_value();
    module.truncation = truncation_.value_or(cuts_by_length ? "longest_first" : "");
    if (module.truncation.empty()) {
      module.max_length.reset();
    }
    if (has_max_length_ || module.truncation.empty()) {
      module.query_length.reset();
      module.document_length.reset();
    }
  }

 private:
  static constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;

  static std::string Truncation(const JsonCursor& value) {
    if (value.value().is_boolean()) {
      return value.Bool() ? "longest_first" : "";
    }
    return value.String() == "do_not_truncate" ? "" : value.String();
  }

  bool adds_tokens_ = true;
  std::optional<std::string> truncation_ = "longest_first";
  bool pads_ = true;
  bool pads_to_length_ = false;
  bool pads_left_ = false;
  bool has_max_length_ = false;
  std::optional<std::int64_t> max_length_;
};

/// A variable's value as its file spells it: objects keep the order of their members.
std::string ArgumentJson(const std::string& origin, const std::string& name) {
  const nlohmann::ordered_json root = nlohmann::ordered_json::parse(ReadModelFile(origin));
  return root["processing_kwargs"]["chat_template"][name].dump();
}

/// Reads `processing_kwargs.chat_template`.
void ReadChatArguments(const JsonCursor& object, const std::string& origin, MessageRules& rules,
                       CallArguments& call) {
  ForEachMember(object, [&](const std::string& name, const std::optional<JsonCursor>& value) {
    call.TakeLength(name, value);
    const bool is_on = value && value->value() == true;
    if (name == "add_generation_prompt") {
      rules.add_generation_prompt = is_on;
    } else if (name == "continue_final_message") {
      rules.continue_final_message = is_on;
    } else if (name == "restore_suffix") {
      rules.restores_suffix = is_on;
    } else if (proto::FindRow(proto::kChatArgumentKeys, name, /*family=*/nullptr) == nullptr) {
      rules.arguments.emplace_back(name, ArgumentJson(origin, name));
    }
  });
  if (rules.add_generation_prompt && rules.continue_final_message) {
    object.Fail("add_generation_prompt and continue_final_message exclude each other");
  }
}

/// Reads `processing_kwargs`. Where texts are messages, they are rendered with the arguments in
/// `chat_template`, and the arguments in `common` count little.
void ReadProcessingArguments(const JsonCursor& arguments, TransformerModule& module) {
  CallArguments call;
  const std::optional<JsonCursor> common = arguments.Find("common");
  const std::optional<JsonCursor> text = arguments.Find("text");
  const std::optional<JsonCursor> chat = arguments.Find("chat_template");
  if (module.messages && common) {
    ForEachMember(*common, [&](const std::string& name, const std::optional<JsonCursor>& value) {
      // Texts have a padding and a truncation by default, which count more.
      if (name == "max_length") {
        call.TakeLength(name, value);
      }
    });
    call.YieldMaxLength();
  }
  if (text) {
    ForEachMember(*text, [&](const std::string& name, const std::optional<JsonCursor>& value) {
      if (module.messages && name == "add_special_tokens") {
        text->Fail("add_special_tokens is not supported where texts are messages");
      }
      call.Take(*text, name, value);
    });
  }
  if (!module.messages && common) {
    ForEachMember(*common, [&](const std::string& name, const std::optional<JsonCursor>& value) {
      call.Take(*common, name, value);
    });
  }
  if (module.messages && chat) {
    ReadChatArguments(*chat, module.origin, *module.messages, call);
  }
  call.Finish(arguments, module);
  if (module.messages && module.truncation.empty()) {
    module.messages->restores_suffix = false;
  }
}

/// What the modules behind a model of this task take from it.
struct TaskOutput {
  std::string_view task;
  std::string_view of_model;   ///< `method_output_name`.
  std::string_view of_module;  ///< `module_output_name`.
};

constexpr std::array kTaskOutputs = {
    TaskOutput{"feature-extraction", "last_hidden_state", "token_embeddings"},
    TaskOutput{"sequence-classification", "logits", "scores"},
    TaskOutput{"text-generation", "logits", "causal_logits"},
};

/// Refuses another output than the task's own.
void CheckOutput(const JsonCursor& object, std::string_view name, std::string_view own) {
  const std::optional<JsonCursor> output = object.Find(name);
  if (output && output->value() != own && output->value() != json::array({own})) {
    output->Fail(proto::OneLine(output->value().dump(), 120) + " is not supported (supported is " +
                 std::string(own) + ")");
  }
}

/// Reads `modality_config` and `module_output_name`. Without the first, the second is not read.
void ReadModalities(const JsonCursor& root, TransformerModule& module) {
  const TaskOutput& output = *std::ranges::find(kTaskOutputs, module.task, &TaskOutput::task);
  const std::optional<JsonCursor> modalities = root.Find("modality_config");
  if (!modalities) {
    return;
  }
  const std::optional<JsonCursor> message = modalities->Find("message");
  const std::optional<JsonCursor> text = modalities->Find("text");
  if (!message && !text) {
    modalities->Fail("has neither text nor message, so that the model takes no texts");
  }
  CheckOutput(message ? *message : *text, "method_output_name", output.of_model);
  if (message) {
    const std::optional<JsonCursor> format = message->Find("format");
    const std::string name = format ? format->String() : "auto";
    module.messages.emplace().format = name == "flat"         ? MessageRules::Format::kFlat
                                       : name == "structured" ? MessageRules::Format::kStructured
                                                              : MessageRules::Format::kAuto;
  }
  CheckOutput(root, "module_output_name", output.of_module);
}

std::optional<std::int64_t> LengthOf(const JsonCursor& root, std::string_view name) {
  const std::optional<JsonCursor> length = root.Find(name);
  return length ? std::optional(ReadLength(*length)) : std::nullopt;
}

}  // namespace

std::string TaskOfModule(const std::filesystem::path& model_dir) {
  const SentenceBertConfig config = LoadSentenceBertConfig(model_dir);
  const std::optional<JsonCursor> task =
      config.is_of_modules ? JsonCursor(config.root, config.origin).Find("transformer_task")
                           : std::nullopt;
  return task ? task->String() : TransformerModule().task;
}

TransformerModule ReadTransformerModule(const std::filesystem::path& model_dir) {
  TransformerModule module;
  const SentenceBertConfig config = LoadSentenceBertConfig(model_dir);
  if (!config.is_of_modules) {
    return module;
  }
  const JsonCursor root(config.root, config.origin);
  module.origin = config.origin;
  module.task = TaskOfModule(model_dir);
  ReadModalities(root, module);
  module.query_length = LengthOf(root, "query_length");
  module.document_length = LengthOf(root, "document_length");
  if (const std::optional<JsonCursor> arguments = root.Find("processing_kwargs")) {
    ReadProcessingArguments(*arguments, module);
  }
  return module;
}

std::int64_t ReadTokenLimit(const std::filesystem::path& model_dir, std::int64_t usable_positions) {
  const TransformerModule module = ReadTransformerModule(model_dir);
  if (module.truncation.empty()) {
    return usable_positions;
  }
  const SentenceBertConfig sentence = LoadSentenceBertConfig(model_dir);
  const bool is_argument = sentence.processor_kwargs.contains("model_max_length");
  std::optional<std::int64_t> limit = module.max_length;
  if (!limit && !is_argument) {
    limit = sentence.max_seq_length;
  }
  if (!limit) {
    if (const std::optional<JsonFile> file = ReadTokenizerConfigFile(model_dir)) {
      const JsonCursor root(file->root, file->origin);
      for (const std::string_view name : {"max_len", "model_max_length"}) {  // The latter counts.
        if (const std::optional<JsonCursor> length = root.Find(name)) {
          limit = ReadLength(*length);
        }
      }
    }
  }
  return std::min(limit.value_or(usable_positions), usable_positions);
}

}  // namespace scorecast::coordinator
