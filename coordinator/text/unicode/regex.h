#pragma once

#include <cstddef>
#include <cstdint>
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

/// What is certain about the first match in a text if more text may follow.
struct OpenMatch {
  std::optional<RegexMatch> match;  ///< Set if it is the first match, whatever follows.
  /// Whatever follows, no match begins before this byte. `match->begin` if there is a match.
  std::size_t searched = 0;
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

  /// The same search in a text that may be continued.
  OpenMatch FindInOpenText(std::string_view text, std::size_t from) const;

  /// Whether a match may depend on the text before it.
  bool looks_behind() const { return looks_behind_; }

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  /// The result of pcre2_match, whose offsets are in the thread's match data.
  int Match(std::string_view text, std::size_t from, std::uint32_t options) const;

  std::unique_ptr<pcre2_real_code_8, Free> code_;
  bool looks_behind_ = false;
};

}  // namespace scorecast::coordinator
