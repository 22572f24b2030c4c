#include "coordinator/text/files/read_pre_tokenizer.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/files/read_step.h"
#include "coordinator/text/unicode/unicode_classes.h"

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

SplitStep ReadSplit(const JsonCursor& split) {
  return {.pattern = ReadPattern(split.At("pattern")),
          .behavior = ReadBehavior(split.At("behavior")),
          .invert = split.Flag("invert", false)};
}

MetaspaceStep::Prepend ReadPrepend(const JsonCursor& metaspace) {
  using Prepend = MetaspaceStep::Prepend;
  // Files from before 2024 have add_prefix_space instead.
  const std::optional<JsonCursor> scheme = metaspace.Find("prepend_scheme");
  const bool add_prefix_space = metaspace.Flag("add_prefix_space", true);
  if (!scheme) {
    return add_prefix_space ? Prepend::kAlways : Prepend::kNever;
  }
  const std::string& name = scheme->String();
  if (!add_prefix_space && name != "never") {
    scheme->Fail(Quoted(name) + " contradicts add_prefix_space");
  }
  if (name == "always") {
    return Prepend::kAlways;
  }
  if (name == "first") {
    return Prepend::kFirst;
  }
  if (name == "never") {
    return Prepend::kNever;
  }
  scheme->Fail(Quoted(name) + " is not supported");
}

PreTokenizer::Step ReadPreTokenizerStep(const JsonCursor& step) {
  const std::string_view type = step.At("type").String();
  if (type == "Split") {
    return ReadSplit(step);
  }
  if (type == "Digits") {
    return CharacterSplitStep{IsNumeric, step.Flag("individual_digits", false)
                                             ? SplitBehavior::kIsolated
                                             : SplitBehavior::kContiguous};
  }
  if (type == "Punctuation") {
    const std::optional<JsonCursor> behavior = step.Find("behavior");
    return CharacterSplitStep{IsPunctuation,
                              behavior ? ReadBehavior(*behavior) : SplitBehavior::kIsolated};
  }
  if (type == "Whitespace") {
    return WhitespaceStep{};
  }
  if (type == "WhitespaceSplit") {
    return CharacterSplitStep{IsWhiteSpace, SplitBehavior::kRemoved};
  }
  if (type == "Metaspace") {
    return MetaspaceStep{.replacement = ReadCharacter(step, "replacement"),
                         .prepend = ReadPrepend(step),
                         .split = step.Flag("split", true)};
  }
  if (type == "ByteLevel") {
    return ByteLevelStep(step.Flag("add_prefix_space", true), step.Flag("use_regex", true));
  }
  RefuseType(step);
}

}  // namespace

PreTokenizer ReadPreTokenizer(const JsonCursor& pre_tokenizer) {
  std::vector<PreTokenizer::Step> steps;
  ForEachStep(pre_tokenizer, "pretokenizers", [&](const JsonCursor& step) {
    if (!steps.empty() && std::holds_alternative<ByteLevelStep>(steps.back())) {
      step.Fail("a step after ByteLevel is not supported");
    }
    if (step.At("type").String() == "BertPreTokenizer") {
      steps.emplace_back(CharacterSplitStep{IsWhiteSpace, SplitBehavior::kRemoved});
      steps.emplace_back(CharacterSplitStep{IsPunctuation, SplitBehavior::kIsolated});
      return;
    }
    steps.push_back(ReadPreTokenizerStep(step));
  });
  return PreTokenizer(std::move(steps));
}

}  // namespace scorecast::coordinator
