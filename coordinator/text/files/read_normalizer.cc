#include "coordinator/text/files/read_normalizer.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/files/base64.h"
#include "coordinator/text/files/read_step.h"

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
    return Normalizer::Lowercase{};
  }
  if (type == "Precompiled") {
    return ReadCharsmap(step.At("precompiled_charsmap"));
  }
  RefuseType(step);
}

}  // namespace

Normalizer ReadNormalizer(const JsonCursor& normalizer) {
  std::vector<Normalizer::Step> steps;
  ForEachStep(normalizer, "normalizers",
              [&](const JsonCursor& step) { steps.push_back(ReadNormalizerStep(step)); });
  return Normalizer(std::move(steps));
}

}  // namespace scorecast::coordinator
