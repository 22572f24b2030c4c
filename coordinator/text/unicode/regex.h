#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

// PCRE2's compiled pattern. It is declared here so that only regex.cc includes PCRE2's header.
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

/// What is certain about the first match in a text if more text may follow.
struct OpenMatch {
  std::optional<RegexMatch> match;  ///< Set if this is the first match whatever follows.
  /// No match begins before this byte, whatever follows. Equal to `match->begin` if there is a
  /// match.
  std::size_t searched = 0;
};

/// An expression of a pre-tokenizer. The reference uses Oniguruma (Ruby's syntax, UTF-8); we use
/// PCRE2. Constructs that mean the same in both are accepted. Others are translated, or refused by
/// name (see regex_syntax.h). Const methods may be called from any thread.
class Regex {
 public:
  /// Throws RegexError.
  explicit Regex(std::string_view expression);

  /// The first match at or after byte `from` of `text`, which must be valid UTF-8. Nullopt also if
  /// the search was given up. It is given up after a number of steps that is linear in the text's
  /// length; only expressions of exponential cost exceed that number.
  std::optional<RegexMatch> Find(std::string_view text, std::size_t from) const;

  /// The same search in a text to which more text may be appended.
  OpenMatch FindInOpenText(std::string_view text, std::size_t from) const;

  /// Whether a match may depend on the text before it.
  bool looks_behind() const { return looks_behind_; }

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  /// The result of pcre2_match. The offsets are in the match data of this thread.
  int Match(std::string_view text, std::size_t from, std::uint32_t options) const;

  std::unique_ptr<pcre2_real_code_8, Free> code_;
  bool looks_behind_ = false;
};

}  // namespace scorecast::coordinator
