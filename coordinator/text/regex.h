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

/// An expression that is broken or not supported; `what()` says how.
class RegexError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where an expression matched, in bytes.
struct RegexMatch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// An expression of a pre-tokenizer. The reference compiles these with Oniguruma (Ruby's syntax,
/// UTF-8), we with PCRE2: what both read alike is accepted, what they read differently is either
/// translated or refused by name (see regex_syntax.h). Const methods are safe from any thread.
class Regex {
 public:
  /// Throws RegexError.
  explicit Regex(std::string_view expression);

  /// The first match at or after byte `from` of `text`, which must be valid UTF-8. Nothing too
  /// where the search was given up: after a number of steps that is linear in the text's length and
  /// that only an expression of exponential cost passes.
  std::optional<RegexMatch> Find(std::string_view text, std::size_t from) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace scorecast::coordinator
