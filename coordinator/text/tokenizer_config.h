#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// What counts here of a tokenizer_config.json.
struct TokenizerConfig {
  std::string origin;  ///< The file, for messages.
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  std::optional<std::string> tokenizer_class;

  /// Whether `add_bos_token` and `add_eos_token`, where they are given, replace what the
  /// post-processor of a tokenizer.json puts before and after a text. In transformers they do for
  /// the classes with an update_post_processor of their own (4.56); for others they are dead
  /// letters. Where no class is named, they are taken at their word.
  bool overrides_post_processor() const;
};

/// Throws StartupError (one line that names `origin`) where the text is broken.
TokenizerConfig ParseTokenizerConfig(std::string_view json_text, const std::string& origin);

/// The same for a file; nothing is set where there is none.
TokenizerConfig LoadTokenizerConfig(const std::filesystem::path& file);

}  // namespace scorecast::coordinator
