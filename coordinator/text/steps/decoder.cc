#include "coordinator/text/steps/decoder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "coordinator/text/unicode/byte_alphabet.h"
#include "coordinator/text/unicode/spans.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

using Tokens = std::vector<std::string>;

std::string Joined(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    text += token;
  }
  return text;
}

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return std::nullopt;
}

/// The byte for which a token <0xHH> stands. As in the reference (Rust's u8::from_str_radix), the
/// first digit may be a plus sign.
std::optional<char> ByteOf(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) {
    return std::nullopt;
  }
  const std::optional<int> high = token[3] == '+' ? 0 : HexDigit(token[3]);
  const std::optional<int> low = HexDigit(token[4]);
  return high && low ? std::optional(static_cast<char>(16 * *high + *low)) : std::nullopt;
}

Tokens Apply(const Decoder::Replace& step, Tokens tokens) {
  for (std::string& token : tokens) {
    std::string replaced;
    for (const Span& span : FindSpans(token, step.pattern)) {
      if (span.is_match) {
        replaced += step.content;
      } else {
        replaced += std::string_view(token).substr(span.begin, span.end - span.begin);
      }
    }
    token = std::move(replaced);
  }
  return tokens;
}

Tokens Apply(const Decoder::ByteFallback& /*step*/, Tokens tokens) {
  Tokens result;
  std::string bytes;
  const auto end_bytes = [&] {
    if (IsValidUtf8(bytes)) {
      result.push_back(bytes);
    } else {
      result.insert(result.end(), bytes.size(), "\uFFFD");
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    if (const std::optional<char> byte = ByteOf(token)) {
      bytes += *byte;
      continue;
    }
    if (!bytes.empty()) {
      end_bytes();
    }
    result.push_back(std::move(token));
  }
  if (!bytes.empty()) {
    end_bytes();
  }
  return result;
}

Tokens Apply(const Decoder::Fuse& /*step*/, const Tokens& tokens) { return {Joined(tokens)}; }

Tokens Apply(const Decoder::Strip& step, Tokens tokens) {
  for (std::string& token : tokens) {
    std::string_view rest = token;
    for (std::size_t i = 0; i < step.most && rest.starts_with(step.character); ++i) {
      rest.remove_prefix(step.character.size());
    }
    token.erase(0, token.size() - rest.size());
  }
  return tokens;
}

Tokens Apply(const Decoder::Metaspace& step, Tokens tokens) {
  bool is_first = true;
  for (std::string& token : tokens) {
    const std::string_view with = is_first && step.drops_first ? "" : " ";
    std::string replaced;
    for (const Span& span : FindSpans(token, step.character)) {
      replaced +=
          span.is_match ? with : std::string_view(token).substr(span.begin, span.end - span.begin);
    }
    token = std::move(replaced);
    is_first = false;
  }
  return tokens;
}

void ReplaceAll(std::string_view from, std::string_view to, std::string& text) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// The reference cleans each token by itself, so most of these texts are never found.
void CleanUp(std::string& token) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kReplaced = {
      {{" .", "."},
       {" ?", "?"},
       {" !", "!"},
       {" ,", ","},
       {" ' ", "'"},
       {" n't", "n't"},
       {" 'm", "'m"},
       {" do not", " don't"},
       {" 's", "'s"},
       {" 've", "'ve"},
       {" 're", "'re"}}};
  for (const auto& [from, to] : kReplaced) {
    ReplaceAll(from, to, token);
  }
}

Tokens Apply(const Decoder::WordPiece& step, Tokens tokens) {
  bool is_first = true;
  for (std::string& token : tokens) {
    if (is_first) {
      is_first = false;
    } else if (token.starts_with(step.prefix)) {
      token.erase(0, step.prefix.size());
    } else {
      token.insert(0, " ");
    }
    if (step.cleanup) {
      CleanUp(token);
    }
  }
  return tokens;
}

Tokens Apply(const Decoder::WordEnds& step, Tokens tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ReplaceAll(step.suffix, i + 1 < tokens.size() ? " " : "", tokens[i]);
  }
  return tokens;
}

Tokens Apply(const Decoder::ByteLevel& /*step*/, const Tokens& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) {
    // A token with a character outside of the alphabet is taken literally.
    bytes += BytesOfSpelling(token).value_or(token);
  }
  // All bytes are converted at once, because the bytes of a character may be in several tokens.
  return {ReplaceInvalidUtf8(bytes)};
}

Tokens Apply(const Decoder::Spaces& /*step*/, Tokens tokens) {
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    tokens[i].insert(0, " ");
  }
  return tokens;
}

}  // namespace

std::string Decoder::Decode(std::vector<std::string> tokens) const {
  for (const Step& step : steps_) {
    tokens = std::visit([&](const auto& kind) { return Apply(kind, std::move(tokens)); }, step);
  }
  return Joined(tokens);
}

bool Decoder::IsByte(std::string token) const {
  Tokens tokens = {std::move(token)};
  for (const Step& step : steps_) {
    if (std::holds_alternative<ByteFallback>(step)) {
      return ByteOf(tokens.front()).has_value();
    }
    tokens = std::visit([&](const auto& kind) { return Apply(kind, std::move(tokens)); }, step);
  }
  return false;
}

}  // namespace scorecast::coordinator
