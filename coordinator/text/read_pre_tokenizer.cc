#include "coordinator/text/read_pre_tokenizer.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/regex_syntax.h"

namespace scorecast::coordinator {
namespace {

SplitBehavior ReadBehavior(const JsonCursor& behavior) {
  static constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kBehaviors = {{
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  }};
  for (const auto& [name, value] : kBehaviors) {
    if (behavior.String() == name) {
      return value;
    }
  }
  behavior.Fail(Quoted(behavior.String()) + " is not supported");
}

Regex ReadPattern(const JsonCursor& pattern) {
  const std::optional<JsonCursor> text = pattern.Find("String");
  if (text && text->String().empty()) {
    text->Fail("must not be empty");
  }
  const JsonCursor source = text ? *text : pattern.At("Regex");
  try {
    return Regex(text ? QuoteForRegex(source.String()) : source.String());
  } catch (const RegexError& error) {
    source.Fail(error.what());
  }
}

SplitStep ReadSplit(const JsonCursor& split) {
  return {.pattern = ReadPattern(split.At("pattern")),
          .behavior = ReadBehavior(split.At("behavior")),
          .invert = split.Flag("invert", false)};
}

/// Collects steps up to ByteLevel, which must be the last one.
class Reader {
 public:
  void Add(const JsonCursor& part) {
    if (byte_level_) {
      part.Fail("a step after ByteLevel is not supported");
    }
    const JsonCursor type = part.At("type");
    if (type.String() == "Split") {
      steps_.emplace_back(ReadSplit(part));
    } else if (type.String() == "Digits") {
      steps_.emplace_back(DigitsStep{part.Flag("individual_digits", false)});
    } else if (type.String() == "ByteLevel") {
      byte_level_ = part;
    } else {
      type.Fail(Quoted(type.String()) + " is not supported here");
    }
  }

  PreTokenizer Finish(const JsonCursor& whole) && {
    if (!byte_level_) {
      whole.Fail("a pre-tokenizer without ByteLevel is not supported");
    }
    return PreTokenizer(std::move(steps_), byte_level_->Flag("add_prefix_space", true),
                        byte_level_->Flag("use_regex", true));
  }

 private:
  std::vector<PreTokenizer::Step> steps_;
  std::optional<JsonCursor> byte_level_;
};

}  // namespace

PreTokenizer ReadPreTokenizer(const JsonCursor& pre_tokenizer) {
  Reader reader;
  if (pre_tokenizer.At("type").String() == "Sequence") {
    pre_tokenizer.At("pretokenizers").ForEachElement([&](const JsonCursor& part) {
      reader.Add(part);
    });
  } else {
    reader.Add(pre_tokenizer);
  }
  return std::move(reader).Finish(pre_tokenizer);
}

}  // namespace scorecast::coordinator
