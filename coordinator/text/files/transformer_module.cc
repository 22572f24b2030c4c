#include "coordinator/text/files/transformer_module.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"
#include "coordinator/text/files/sentence_bert_config.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;

constexpr std::string_view kNotSupported = "not supported";

template <typename Names>
bool IsOneOf(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

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

/// Arguments that a call of transformers' tokenizer takes, as far as they are supported. Objects
/// that are taken later count more.
class CallArguments {
 public:
  /// Takes a member of `object`, an object of `processing_kwargs`. Returns false if it is none of
  /// those that say how long a text is.
  bool TakeLength(const JsonCursor& object, const std::string& name,
                  const std::optional<JsonCursor>& value) {
    if (name == "padding" && !value) {
      object.Fail("padding: null is not supported");
    }
    if (name == "max_length") {
      has_max_length_ = true;
      max_length_ = value ? std::optional(value->Integer(1, kMostTokens)) : std::nullopt;
    } else if (name == "truncation") {
      truncation_ = value ? std::optional(Truncation(*value)) : std::nullopt;
    } else if (name == "padding") {
      padding_ = Padding(*value);
    } else if (name == "return_tensors") {
      if (value && value->String() != "pt") {
        value->Fail(std::string(kNotSupported));
      }
    } else {
      return false;
    }
    return true;
  }

  /// Takes a member, which must be supported.
  void Take(const JsonCursor& object, const std::string& name,
            const std::optional<JsonCursor>& value) {
    if (TakeLength(object, name, value)) {
      return;
    }
    if (name == "add_special_tokens" && value) {
      adds_tokens_ = value->Bool();
    } else if (name == "padding_side") {
      pads_left_ = value && value->String() == "left";
    } else if (IsOneOf(kFlagsWithoutEffect, name)) {
      if (value) {
        value->Bool();
      }
    } else if (IsOneOf(kNumbersWithoutEffect, name)) {
      if (value) {
        value->Integer(0, kMostTokens);
      }
    } else if (value && IsOneOf(kOnlyFalse, name)) {
      if (value->Bool()) {
        value->Fail(std::string(kNotSupported));
      }
    } else if (value && name == "return_attention_mask") {
      if (!value->Bool()) {
        value->Fail(std::string(kNotSupported));
      }
    } else if (value) {
      value->Fail(std::string(kNotSupported));
    } else if (!IsOneOf(kOnlyFalse, name) && name != "return_attention_mask" &&
               name != "return_token_type_ids") {
      object.Fail(name + ": null is not supported");
    }
  }

  /// Makes the limit one that gives way to `query_length` and `document_length`.
  void YieldMaxLength() { has_max_length_ = false; }

  /// `object` is named in faults.
  void Finish(const JsonCursor& object, TransformerModule& module) const {
    if (padding_ == "max_length" && pads_left_) {
      object.Fail("padding: max_length is not supported with padding_side left");
    }
    module.adds_tokens = adds_tokens_;
    module.max_length = max_length_;
    const bool cuts_by_length = padding_ == kNoPadding && max_length_.has_value();
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
  static constexpr std::string_view kNoPadding = "do_not_pad";
  static constexpr std::array<std::string_view, 4> kFlagsWithoutEffect = {
      "return_length", "return_offsets_mapping", "return_special_tokens_mask", "verbose"};
  static constexpr std::array<std::string_view, 3> kNumbersWithoutEffect = {
      "logits_to_keep", "pad_to_multiple_of", "stride"};
  static constexpr std::array<std::string_view, 3> kOnlyFalse = {
      "is_split_into_words", "return_overflowing_tokens", "split_special_tokens"};

  static std::string Truncation(const JsonCursor& value) {
    if (value.value().is_boolean()) {
      return value.Bool() ? "longest_first" : "";
    }
    constexpr std::array<std::string_view, 3> kStrategies = {"longest_first", "only_first",
                                                             "only_second"};
    const std::string& name = value.String();
    if (name == "do_not_truncate") {
      return "";
    }
    if (!IsOneOf(kStrategies, name)) {
      value.Fail("must be true, false, longest_first, only_first, only_second or do_not_truncate");
    }
    return name;
  }

  static std::string Padding(const JsonCursor& value) {
    if (value.value().is_boolean()) {
      return value.Bool() ? "longest" : std::string(kNoPadding);
    }
    constexpr std::array<std::string_view, 3> kPaddings = {"longest", "max_length", kNoPadding};
    if (!IsOneOf(kPaddings, value.String())) {
      value.Fail("must be true, false, longest, max_length or do_not_pad");
    }
    return value.String();
  }

  bool adds_tokens_ = true;
  std::optional<std::string> truncation_ = "longest_first";
  std::string padding_ = "longest";
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
  constexpr std::array<std::string_view, 8> kOnlyNull = {
      "chat_template",    "common_kwargs", "conversation", "documents",
      "tokenizer_kwargs", "tokenize",      "tools",        "return_dict"};
  constexpr std::array<std::string_view, 2> kOnlyFalse = {"return_assistant_tokens_mask",
                                                          "sanitize_control_tokens"};
  ForEachMember(object, [&](const std::string& name, const std::optional<JsonCursor>& value) {
    if (call.TakeLength(object, name, value)) {
      return;
    }
    if (name == "add_generation_prompt" || name == "continue_final_message" ||
        name == "restore_suffix") {
      const bool is_on = value && value->Bool();
      (name == "add_generation_prompt"    ? rules.add_generation_prompt
       : name == "continue_final_message" ? rules.continue_final_message
                                          : rules.restores_suffix) = is_on;
    } else if (IsOneOf(kOnlyNull, name) || IsOneOf(kOnlyFalse, name)) {
      if (value && (!IsOneOf(kOnlyFalse, name) || value->Bool())) {
        value->Fail(std::string(kNotSupported));
      }
    } else {
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
  constexpr std::array<std::string_view, 3> kOtherModalities = {"audio", "image", "video"};
  ForEachMember(arguments, [&](const std::string& name, const std::optional<JsonCursor>& value) {
    if (name != "common" && name != "text" && name != "chat_template" &&
        !IsOneOf(kOtherModalities, name) && value) {
      value->Fail("supported are common, text and chat_template");
    }
  });
  CallArguments call;
  const std::optional<JsonCursor> common = arguments.Find("common");
  const std::optional<JsonCursor> text = arguments.Find("text");
  const std::optional<JsonCursor> chat = arguments.Find("chat_template");
  if (module.messages && common) {
    ForEachMember(*common, [&](const std::string& name, const std::optional<JsonCursor>& value) {
      // Those that texts always have count more.
      if (name == "max_length" || name == "return_tensors") {
        call.TakeLength(*common, name, value);
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

const TaskOutput& OutputOf(const JsonCursor& root, const std::string& task) {
  const auto* const output = std::ranges::find(kTaskOutputs, task, &TaskOutput::task);
  if (output == kTaskOutputs.end()) {
    root.At("transformer_task")
        .Fail(Quoted(task) +
              " is not supported (supported are feature-extraction, sequence-classification and "
              "text-generation)");
  }
  return *output;
}

void CheckModalityName(const std::string& name, const JsonCursor& modality) {
  constexpr std::array<std::string_view, 5> kSingle = {"audio", "image", "message", "text",
                                                       "video"};
  for (std::string_view rest = name;;) {
    const std::size_t end = std::min(rest.find('+'), rest.size());
    if (!IsOneOf(kSingle, rest.substr(0, end))) {
      modality.Fail("there is no such modality");
    }
    if (end == rest.size()) {
      return;
    }
    rest.remove_prefix(end + 1);
  }
}

/// Refuses another function or output of the model than the task's own.
void CheckModality(const JsonCursor& modality, const TaskOutput& output) {
  const JsonCursor method = modality.At("method");
  if (method.String() != "forward") {
    method.Fail(Quoted(method.String()) + " is not supported (supported is forward)");
  }
  const JsonCursor name = modality.At("method_output_name");
  const json& value = name.value();
  const bool is_own = value == output.of_model ||
                      (value.is_array() && value.size() == 1 && value[0] == output.of_model);
  if (!is_own) {
    name.Fail(proto::OneLine(value.dump(), 120) + " is not supported (supported is " +
              std::string(output.of_model) + ")");
  }
}

/// Reads `modality_config` and `module_output_name`. Without the first, the second is not read.
void ReadModalities(const JsonCursor& root, TransformerModule& module) {
  const TaskOutput& output = OutputOf(root, module.task);
  const std::optional<JsonCursor> modalities = root.Find("modality_config");
  if (!modalities) {
    return;
  }
  modalities->ForEachMember(CheckModalityName);
  const std::optional<JsonCursor> message = modalities->Find("message");
  const std::optional<JsonCursor> text = modalities->Find("text");
  if (!message && !text) {
    modalities->Fail("has neither text nor message, so that the model takes no texts");
  }
  CheckModality(message ? *message : *text, output);
  if (message) {
    MessageRules& rules = module.messages.emplace();
    if (const std::optional<JsonCursor> format = message->Find("format")) {
      if (format->String() == "flat") {
        rules.format = MessageRules::Format::kFlat;
      } else if (format->String() == "structured") {
        rules.format = MessageRules::Format::kStructured;
      } else if (format->String() != "auto") {
        format->Fail("must be flat, structured or auto");
      }
    }
  }
  const JsonCursor name = root.At("module_output_name");
  if (name.String() != output.of_module) {
    name.Fail(Quoted(name.String()) + " is not supported (supported is " +
              std::string(output.of_module) + ")");
  }
}

/// Refuses arguments for loading the model that change it.
void CheckModelArguments(const JsonCursor& root) {
  constexpr std::array<std::string_view, 17> kModelArguments = {
      "add_pooling_layer", "attn_implementation",
      "cache_dir",         "code_revision",
      "device_map",        "dtype",
      "force_download",    "local_files_only",
      "low_cpu_mem_usage", "revision",
      "subfolder",         "token",
      "torch_dtype",       "trust_remote_code",
      "unpad_inputs",      "use_memory_efficient_attention",
      "use_safetensors"};
  for (const std::string_view name : {"model_kwargs", "model_args"}) {
    if (const std::optional<JsonCursor> arguments = root.Find(name)) {
      arguments->ForEachMember([&](const std::string& argument, const JsonCursor& value) {
        if (!IsOneOf(kModelArguments, argument)) {
          value.Fail(std::string(kNotSupported));
        }
      });
    }
  }
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
  CheckModelArguments(root);
  for (const auto& [name, why] : std::to_array<std::pair<std::string_view, std::string_view>>(
           {{"query_expansion", "is not supported: no tokens are added to queries"},
            {"tokenizer_name_or_path", "is not supported: the tokenizer is the directory's"}})) {
    if (const std::optional<JsonCursor> member = root.Find(name)) {
      member->Fail(std::string(why));
    }
  }
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
      if (const auto length = JsonCursor(file->root, file->origin).Find("model_max_length")) {
        limit = ReadLength(*length);
      }
    }
  }
  return std::min(limit.value_or(usable_positions), usable_positions);
}

}  // namespace scorecast::coordinator
