#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

// PCRE2's compiled pattern, declared here so that its header stays in regex.cc.
struct pcre2_real_code_8;

namespace scorecast::coordinator {

/// Thrown for an expression that is malformed or not supported; `what()` says why.
class RegexError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The range of a match, in bytes.
struct RegexMatch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// An expression of a pre-tokenizer. The reference compiles it with Oniguruma (Ruby's syntax,
/// UTF-8), we use PCRE2. Constructs that both read alike are accepted; others are either translated
/// or refused by name (see regex_syntax.h). Const methods may be called from any thread.
class Regex {
 public:
  /// Throws RegexError.
  explicit Regex(std::string_view expression);

  /// The first match at or after byte `from` of `text`, which must be valid UTF-8. Also nullopt if
  /// the search was given up, which happens after a number of steps that is linear in the text's
  /// length and that only expressions of exponential cost exceed.
  std::optional<RegexMatch> Find(std::string_view text, std::size_t from) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace scorecast::coordinator
