#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// The fields of a tokenizer_config.json that matter here.
struct TokenizerConfig {
  std::string origin;  ///< The file, for messages.
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  std::optional<std::string> tokenizer_class;

  /// Whether `add_bos_token` and `add_eos_token`, if present, replace what the post-processor of a
  /// tokenizer.json adds before and after a text. In transformers (4.56) they do for classes with
  /// their own update_post_processor; for other classes they have no effect. If no class is named,
  /// they do.
  bool overrides_post_processor() const;
};

/// Throws StartupError, one line that names `origin`, if the text is malformed.
TokenizerConfig ParseTokenizerConfig(std::string_view json_text, const std::string& origin);

/// The same for a file; if the file does not exist, nothing is set.
TokenizerConfig LoadTokenizerConfig(const std::filesystem::path& file);

}  // namespace scorecast::coordinator
