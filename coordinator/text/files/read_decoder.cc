#include "coordinator/text/files/read_decoder.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/files/read_step.h"

namespace scorecast::coordinator {
namespace {

class Reader {
 public:
  void Add(const JsonCursor& step) {
    const std::string_view type = step.At("type").String();
    if (stage_ != Stage::kTokens && type != "Fuse" && type != "Strip") {
      step.Fail("after the tokens were joined, only Strip is supported");
    }
    if (type == "Replace") {
      steps_.emplace_back(
          Decoder::Replace{ReadPattern(step.At("pattern")), step.At("content").String()});
    } else if (type == "ByteFallback") {
      steps_.emplace_back(Decoder::ByteFallback{});
    } else if (type == "Fuse") {
      steps_.emplace_back(Decoder::Fuse{});
      stage_ = stage_ == Stage::kTokens ? Stage::kJoined : stage_;
    } else if (type == "Strip") {
      steps_.emplace_back(ReadStrip(step));
    } else if (type == "Metaspace") {
      steps_.emplace_back(ReadMetaspace(step));
    } else if (type == "WordPiece") {
      steps_.emplace_back(Decoder::WordPiece{.prefix = step.At("prefix").String(),
                                             .cleanup = step.At("cleanup").Bool()});
    } else if (type == "BPEDecoder") {
      steps_.emplace_back(ReadWordEnds(step));
    } else if (type == "ByteLevel") {
      if (!steps_.empty()) {
        step.Fail("ByteLevel after another step is not supported");
      }
      steps_.emplace_back(Decoder::ByteLevel{});
      stage_ = Stage::kJoined;
    } else {
      RefuseType(step);
    }
  }

  Decoder Finish() && { return Decoder(std::move(steps_)); }

 private:
  enum class Stage { kTokens, kJoined, kStripped };

  Decoder::Strip ReadStrip(const JsonCursor& step) {
    const std::string& character = ReadCharacter(step, "content");
    const std::int64_t most = step.At("start").Integer(0, kMaxStrip);
    step.At("stop").Integer(0, 0);
    if (stage_ != Stage::kTokens && most > 0) {
      if (character != " " || most != 1 || stage_ == Stage::kStripped) {
        step.Fail("after the tokens were joined, only one space may be removed");
      }
      stage_ = Stage::kStripped;
    }
    return {.character = character, .most = static_cast<std::size_t>(most)};
  }

  static Decoder::WordEnds ReadWordEnds(const JsonCursor& step) {
    const std::optional<JsonCursor> suffix = step.Find("suffix");
    if (!suffix || suffix->String().empty()) {
      step.At("type").Fail("\"BPEDecoder\" is not supported without a suffix");
    }
    return {.suffix = suffix->String()};
  }

  static Decoder::Metaspace ReadMetaspace(const JsonCursor& step) {
    const std::string scheme =
        step.Find("prepend_scheme") ? step.At("prepend_scheme").String() : "always";
    return {.character = ReadCharacter(step, "replacement"),
            .drops_first = scheme != "never" && step.Flag("add_prefix_space", true)};
  }

  static constexpr std::int64_t kMaxStrip = 1'000'000;

  std::vector<Decoder::Step> steps_;
  Stage stage_ = Stage::kTokens;
};

}  // namespace

Decoder ReadDecoder(const std::optional<JsonCursor>& decoder) {
  if (!decoder) {
    std::vector<Decoder::Step> steps;
    steps.emplace_back(Decoder::Spaces{});
    return Decoder(std::move(steps));
  }
  Reader reader;
  ForEachStep(*decoder, "decoders", [&](const JsonCursor& step) { reader.Add(step); });
  return std::move(reader).Finish();
}

}  // namespace scorecast::coordinator
