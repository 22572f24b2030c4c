#pragma once

#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// Translates an expression from Oniguruma's Ruby syntax to one of PCRE2 (UTF, UCP) that has the
/// same matches. Translated: \s and \S (those of PCRE2 include U+180E), \v, \uHHHH, and \p{Script}
/// (which means script extensions in PCRE2). Throws RegexError for constructs that mean different
/// things in the two syntaxes and that no known pre-tokenizer needs: \w, \b, \h, ^, $, back
/// references, names, verbs, inline options but (?i:…), a quantifier {n,m} followed by + or ?, and
/// classes inside classes.
std::string TranslateOniguruma(std::string_view expression);

/// An expression that matches `text` and nothing else.
std::string QuoteForRegex(std::string_view text);

}  // namespace scorecast::coordinator
