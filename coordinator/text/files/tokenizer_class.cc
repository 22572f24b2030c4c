#include "coordinator/text/files/tokenizer_class.h"

#include <algorithm>
#include <array>

namespace scorecast::coordinator {
namespace {

/// The class that takes any tokenizer.json as it is. Every unknown name stands for it.
constexpr std::string_view kTokenizersBackend = "TokenizersBackend";
constexpr std::string_view kClassOfVersion4 = "PreTrainedTokenizerFast";

/// A class that makes its tokenizer from the vocabulary.
struct KnownClass {
  std::string_view name;
  bool token_types = false;
  bool bert_switches = false;
};

constexpr std::array<KnownClass, 22> kKnownClasses = {{
    {.name = "AlbertTokenizer"},
    {.name = "BertTokenizer", .token_types = true, .bert_switches = true},
    {.name = "CamembertTokenizer"},
    {.name = "CodeLlamaTokenizer"},
    {.name = "ConvBertTokenizer", .token_types = true, .bert_switches = true},
    {.name = "DebertaTokenizer", .token_types = true},
    {.name = "DebertaV2Tokenizer", .token_types = true},
    {.name = "DistilBertTokenizer", .bert_switches = true},
    {.name = "ElectraTokenizer", .token_types = true, .bert_switches = true},
    {.name = "GPT2Tokenizer"},
    {.name = "GPTNeoXTokenizer"},
    {.name = "GemmaTokenizer"},
    {.name = "LayoutLMTokenizer", .token_types = true, .bert_switches = true},
    {.name = "LlamaTokenizer"},
    {.name = "LxmertTokenizer", .token_types = true, .bert_switches = true},
    {.name = "MPNetTokenizer", .bert_switches = true},
    {.name = "MobileBertTokenizer", .token_types = true, .bert_switches = true},
    {.name = "Qwen2Tokenizer"},
    {.name = "RobertaTokenizer"},
    {.name = "SqueezeBertTokenizer", .token_types = true, .bert_switches = true},
    {.name = "T5Tokenizer"},
    {.name = "XLMRobertaTokenizer"},
}};

const KnownClass* FindClass(std::string_view name) {
  const auto* const entry = std::ranges::find(kKnownClasses, name, &KnownClass::name);
  return entry == kKnownClasses.end() ? nullptr : entry;
}

/// The class of a model's type, for the types that are loaded (TOKENIZER_MAPPING_NAMES).
struct ModelType {
  std::string_view name;
  std::string_view tokenizer_class;
  /// Whether the class counts even if the directory names another one
  /// (MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS).
  bool overrides = false;
};

constexpr std::array<ModelType, 13> kModelTypes = {{
    {.name = "bert", .tokenizer_class = "BertTokenizer"},
    {.name = "camembert", .tokenizer_class = "CamembertTokenizer"},
    {.name = "distilbert", .tokenizer_class = "BertTokenizer"},
    {.name = "electra", .tokenizer_class = "BertTokenizer"},
    {.name = "gemma", .tokenizer_class = "GemmaTokenizer"},
    {.name = "gemma2", .tokenizer_class = "GemmaTokenizer"},
    {.name = "gemma3_text", .tokenizer_class = "GemmaTokenizer"},
    {.name = "mistral", .tokenizer_class = kTokenizersBackend},
    {.name = "modernbert", .tokenizer_class = kTokenizersBackend},
    {.name = "qwen2", .tokenizer_class = "Qwen2Tokenizer", .overrides = true},
    {.name = "qwen3", .tokenizer_class = "Qwen2Tokenizer"},
    {.name = "roberta", .tokenizer_class = "RobertaTokenizer"},
    {.name = "xlm-roberta", .tokenizer_class = "XLMRobertaTokenizer"},
}};

std::string_view WithoutFast(std::string_view name) {
  constexpr std::string_view kFast = "Fast";
  return name.ends_with(kFast) ? name.substr(0, name.size() - kFast.size()) : name;
}

std::string_view ClassOf(std::string_view named, std::string_view model_type) {
  const auto* const entry = std::ranges::find(kModelTypes, model_type, &ModelType::name);
  if (entry != kModelTypes.end() &&
      (named.empty() || entry->overrides || entry->tokenizer_class == kTokenizersBackend)) {
    return entry->tokenizer_class;
  }
  return named.empty() || FindClass(named) != nullptr ? named : kTokenizersBackend;
}

}  // namespace

TokenizerClass::TokenizerClass(std::string_view named, std::string_view model_type)
    : name_(ClassOf(WithoutFast(named), model_type)), is_of_version_4_(named == kClassOfVersion4) {}

bool TokenizerClass::GivesTokenTypes() const {
  const KnownClass* const entry = FindClass(name_);
  return name_.empty() || is_of_version_4_ || (entry != nullptr && entry->token_types);
}

bool TokenizerClass::HasBertSwitches() const {
  const KnownClass* const entry = FindClass(name_);
  return entry != nullptr && entry->bert_switches;
}

bool TokenizerClass::Rebuilds() const { return FindClass(name_) != nullptr; }

}  // namespace scorecast::coordinator
