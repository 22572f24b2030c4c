// The keys of the files of a tokenizer.

#include <array>
#include <string_view>

#include "proto/model/key_tables.h"

namespace scorecast::proto {
namespace {

constexpr std::string_view kNoPadding = "no text is padded";
constexpr std::string_view kPythonTokenizers = "it is for tokenizers in Python";
constexpr std::string_view kPlaces = "it says where files are";
constexpr std::string_view kOfCalls = "requests say it, or sentence_bert_config.json";
constexpr std::string_view kDecoding = "text is made as the decoder of tokenizer.json says";

constexpr std::string_view kSides = "[null, \"left\", \"right\"]";
constexpr std::string_view kSidesSentence = "supported are \"left\" and \"right\"";

constexpr std::array kTokenizerConfigRows = {
    Followed("tokenizer_class").As(ValueKind::kString),
    Followed("model_max_length max_len").As(ValueKind::kNumber),
    Followed("model_input_names").As(ValueKind::kStrings),
    Followed("truncation_side").Only(kSides, kSidesSentence),
    Followed("do_lower_case strip_accents tokenize_chinese_chars split_special_tokens "
             "add_bos_token add_eos_token add_prefix_space")
        .As(ValueKind::kBool),
    Followed("added_tokens_decoder").As(ValueKind::kObject),
    Followed("additional_special_tokens extra_special_tokens model_specific_special_tokens")
        .As(ValueKind::kTokens),
    Followed("bos_token eos_token unk_token sep_token pad_token cls_token mask_token")
        .As(ValueKind::kToken),
    Followed("chat_template"),

    Refused("fix_mistral_regex", "[null, false]",
            "save the tokenizer again, so that tokenizer.json has the expression"),
    Refused("fast_tokenizer_files", "[null, []]", "tokenizer.json is the file that is read"),
    Refused("init_inputs", "[null, []]", "arguments of the tokenizer's class are not supported"),
    Refused("clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
            "[null, false]", "texts of completions are not changed"),

    NoEffect("padding_side pad_token_type_id pad_to_multiple_of", kNoPadding),
    NoEffect("max_length stride truncation_strategy", kOfCalls),
    NoEffect("clean_up_tokenization_spaces errors", kDecoding),
    NoEffect("trim_offsets verbose", "it changes no token"),
    NoEffect("legacy from_slow", "tokenizer.json has the spaces before texts"),
    NoEffect("use_default_system_prompt", "the chat template has the system prompt"),
    NoEffect("response_template response_schema", "completions are not taken apart"),
    NoEffect("chat_control_tokens", "--special-tokens-in-text says what a spelled token becomes"),
    NoEffect("processor_class", kPlaces),
    NoEffect("auto_map", "code that comes with the model is not run"),
    NoEffect("sp_model_kwargs do_basic_tokenize never_split", kPythonTokenizers),
    NoEffect("backend is_local local_files_only name_or_path special_tokens_map_file "
             "tokenizer_file vocab_file merges_file added_tokens_file files_loaded _commit_hash",
             kPlaces),
    // Such as image_token: tokens, unless their value is something else.
    Followed("*_token"),
};

constexpr std::array kTokenizerRows = {
    Followed("added_tokens normalizer pre_tokenizer post_processor decoder model truncation"),
    NoEffect("padding", kNoPadding),
    NoEffect("version", "there is one version"),
};

// transformers would take any key of tokenizer_config.json here.
constexpr std::array kSpecialTokensMapRows = {
    Followed("bos_token eos_token unk_token sep_token pad_token cls_token mask_token")
        .As(ValueKind::kToken),
    Followed("additional_special_tokens extra_special_tokens").As(ValueKind::kTokens),
    Refused("model_max_length max_len model_input_names truncation_side do_lower_case "
            "strip_accents tokenize_chinese_chars split_special_tokens add_bos_token "
            "add_eos_token add_prefix_space chat_template model_specific_special_tokens "
            "fix_mistral_regex",
            "[null]", "it must be in tokenizer_config.json"),
    Followed("*_token"),
};

constexpr std::array kChatTemplateRows = {
    Followed("chat_template"),
};

}  // namespace

constinit const KeyTable kTokenizerConfigKeys = OpenTable(kTokenizerConfigRows);
constinit const KeyTable kTokenizerKeys = OpenTable(kTokenizerRows);
constinit const KeyTable kSpecialTokensMapKeys = OpenTable(kSpecialTokensMapRows);
constinit const KeyTable kAddedTokensKeys{{}, Followed("*")};  // Each key is a token.
constinit const KeyTable kChatTemplateKeys = OpenTable(kChatTemplateRows);

}  // namespace scorecast::proto
