#pragma once

#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// The class that transformers 5.24 makes of a model directory's tokenizer. It decides what is true
/// if tokenizer_config.json does not say so.
class TokenizerClass {
 public:
  /// The class of a directory without any names.
  TokenizerClass() = default;
  /// `named` is `tokenizer_class` of tokenizer_config.json or, if that has none, of config.json;
  /// `model_type` is the model's. Each may be empty.
  TokenizerClass(std::string_view named, std::string_view model_type);

  /// Without the suffix Fast. Empty if nothing is named.
  const std::string& name() const { return name_; }
  /// Whether the class is transformers 4's for any tokenizer.json. transformers 5 takes
  /// TokenizersBackend for it, which gives no token types; the older class did.
  bool is_of_version_4() const { return is_of_version_4_; }

  /// Whether `model_input_names` has `token_type_ids` by default. True for a directory without
  /// names, and for a class of transformers 4.
  bool GivesTokenTypes() const;
  /// Whether `do_lower_case`, `strip_accents` and `tokenize_chinese_chars` are switches of the
  /// class.
  bool HasBertSwitches() const;
  /// Whether the class takes only the vocabulary and the post-processor of a tokenizer.json, and
  /// makes the other parts itself.
  bool Rebuilds() const;

 private:
  std::string name_;
  bool is_of_version_4_ = false;
};

}  // namespace scorecast::coordinator
