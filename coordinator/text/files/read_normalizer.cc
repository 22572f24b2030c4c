#include "coordinator/text/files/read_normalizer.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/files/base64.h"
#include "coordinator/text/files/read_step.h"
#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

PrecompiledCharsmap ReadCharsmap(const JsonCursor& charsmap) {
  const std::optional<std::string> bytes = DecodeBase64(charsmap.String());
  if (!bytes) {
    charsmap.Fail("not Base64");
  }
  std::optional<PrecompiledCharsmap> parsed = PrecompiledCharsmap::Parse(*bytes);
  if (!parsed) {
    charsmap.Fail("malformed");
  }
  return *std::move(parsed);
}

void AppendCleaned(char32_t c, std::string& text) {
  if (c == '\t' || c == '\n' || c == '\r') {
    text += ' ';
  } else if (c != 0xFFFD && !IsControl(c)) {
    AppendUtf8(IsWhiteSpace(c) ? U' ' : c, text);
  }
}

void AppendSpaced(char32_t c, std::string& text) {
  const std::string_view space = IsChinese(c) ? " " : "";
  text += space;
  AppendUtf8(c, text);
  text += space;
}

void AppendUnlessAccent(char32_t c, std::string& text) {
  if (!IsNonspacingMark(c)) {
    AppendUtf8(c, text);
  }
}

void AppendUnlessMark(char32_t c, std::string& text) {
  if (!IsMark(c)) {
    AppendUtf8(c, text);
  }
}

/// BertNormalizer is several steps. As in the reference, accents are stripped by default if the
/// text is made lower case.
void AddBertSteps(const JsonCursor& bert, std::vector<Normalizer::Step>& steps) {
  const bool lowercase = bert.At("lowercase").Bool();
  if (bert.At("clean_text").Bool()) {
    steps.emplace_back(Normalizer::Map{AppendCleaned});
  }
  if (bert.At("handle_chinese_chars").Bool()) {
    steps.emplace_back(Normalizer::Map{AppendSpaced});
  }
  if (bert.Flag("strip_accents", lowercase)) {
    steps.emplace_back(UnicodeForm::kNfd);
    steps.emplace_back(Normalizer::Map{AppendUnlessAccent});
  }
  if (lowercase) {
    steps.emplace_back(Normalizer::Map{AppendLowercase});
  }
}

Normalizer::Step ReadNormalizerStep(const JsonCursor& step) {
  const std::string_view type = step.At("type").String();
  if (type == "NFC") {
    return UnicodeForm::kNfc;
  }
  if (type == "NFD") {
    return UnicodeForm::kNfd;
  }
  if (type == "NFKC") {
    return UnicodeForm::kNfkc;
  }
  if (type == "NFKD") {
    return UnicodeForm::kNfkd;
  }
  if (type == "Prepend") {
    return Normalizer::Prepend{step.At("prepend").String()};
  }
  if (type == "Replace") {
    return Normalizer::Replace{ReadPattern(step.At("pattern")), step.At("content").String()};
  }
  if (type == "Strip") {
    return Normalizer::Strip{.left = step.At("strip_left").Bool(),
                             .right = step.At("strip_right").Bool()};
  }
  if (type == "Lowercase") {
    return Normalizer::Map{AppendLowercase};
  }
  if (type == "StripAccents") {
    return Normalizer::Map{AppendUnlessMark};
  }
  if (type == "Precompiled") {
    return ReadCharsmap(step.At("precompiled_charsmap"));
  }
  RefuseType(step);
}

}  // namespace

Normalizer ReadNormalizer(const JsonCursor& normalizer) {
  std::vector<Normalizer::Step> steps;
  ForEachStep(normalizer, "normalizers", [&](const JsonCursor& step) {
    if (step.At("type").String() == "BertNormalizer") {
      AddBertSteps(step, steps);
    } else {
      steps.push_back(ReadNormalizerStep(step));
    }
  });
  return Normalizer(std::move(steps));
}

}  // namespace scorecast::coordinator
