#pragma once

#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// An expression in Oniguruma's Ruby syntax as one of PCRE2 (UTF, UCP) that matches the same.
/// Translated: \s, \S (PCRE2's have U+180E too), \v, \uHHHH, \p{Script} (PCRE2's means script
/// extensions). Throws RegexError on what the two read differently and nobody's pre-tokenizer
/// needs: \w, \b, \h, ^, $, back references, names, verbs, inline options but (?i:…), a quantifier
/// {n,m} followed by + or ?, classes inside classes.
std::string TranslateOniguruma(std::string_view expression);

/// An expression that matches `text` and nothing else.
std::string QuoteForRegex(std::string_view text);

}  // namespace scorecast::coordinator
