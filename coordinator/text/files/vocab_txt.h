#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/json_cursor.h"

namespace scorecast::coordinator {

/// The tokenizer.json that stands for the vocab.txt of a BERT tokenizer, as transformers makes it:
/// WordPiece over the file's lines, with `do_lower_case`, `strip_accents`, `tokenize_chinese_chars`
/// and the special tokens of tokenizer_config.json or special_tokens_map.json. Throws StartupError
/// if a file is malformed, if `tokenizer_class` is another tokenizer's, or if the vocabulary lacks
/// the tokens for unknown words or around texts.
nlohmann::json TokenizerJsonOfVocabTxt(const std::filesystem::path& model_dir);

/// The same for the contents of the files: `vocabulary` is that of the vocab.txt `origin`, `config`
/// tokenizer_config.json, and `map` special_tokens_map.json.
nlohmann::json TokenizerJsonOfVocabTxt(std::string_view vocabulary, const std::string& origin,
                                       const JsonCursor& config, const JsonCursor& map);

}  // namespace scorecast::coordinator
