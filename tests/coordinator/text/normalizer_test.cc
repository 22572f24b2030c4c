#include "coordinator/text/steps/normalizer.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace normalizer_test {

template <typename... Step>
Normalizer Steps(Step... step) {
  std::vector<Normalizer::Step> steps;
  (steps.emplace_back(std::move(step)), ...);
  return Normalizer(std::move(steps));
}

using Replace = Normalizer::Replace;
using Prepend = Normalizer::Prepend;
using Strip = Normalizer::Strip;

TEST(Normalizer, WithoutStepsLeavesTextAsItIs) {
  EXPECT_TRUE(Normalizer().empty());
  EXPECT_EQ(Normalizer().Apply("e\u0301"), "e\u0301");
}

TEST(Normalizer, TakesStepsInOrder) {
  const Normalizer llama = Steps(Prepend{"▁"}, Replace{Regex(" "), "▁"});
  EXPECT_EQ(llama.Apply("a  b"), "▁a▁▁b");
  EXPECT_EQ(llama.Apply(""), "");
  EXPECT_EQ(Steps(Strip{true, true}).Apply(" \n a b \u3000"), "a b");
  EXPECT_EQ(Steps(Strip{true, false}).Apply(" a "), "a ");
  EXPECT_EQ(Steps(Strip{false, true}).Apply(" a "), " a");
  EXPECT_EQ(Steps(Strip{true, true}).Apply(" \n"), "");
  EXPECT_EQ(Steps(Normalizer::Map{AppendLowercase}).Apply("ÀÉ İΣ ẞ"), "àé i\u0307σ ß");
  EXPECT_EQ(Steps(UnicodeForm::kNfkc, Normalizer::Map{AppendLowercase}).Apply("ﬁＡ"), "fia");
  // As in the reference, an empty match right behind another match does not count.
  EXPECT_EQ(Steps(Replace{Regex("x*"), "-"}).Apply("axb"), "-a-b-");
  EXPECT_EQ(Steps(Replace{Regex("x*"), "-"}).Apply("xxé"), "-é-");
  EXPECT_EQ(Steps(Replace{Regex("x*"), "-"}).Apply(""), "");
}

/// The bytes of a normalized text that stand for the first character of `text`.
std::string First(const Normalizer& normalizer, std::string_view text, bool at_start = true) {
  const StagedText staged = normalizer.Apply(
      {.text = std::string(text), .first_bytes = FirstCodePoint(text).length}, at_start);
  return staged.text.substr(0, staged.first_bytes);
}

TEST(Normalizer, KnowsWhatStandsForTheFirstCharacter) {
  EXPECT_EQ(First(Normalizer(), "éa"), "é");
  EXPECT_EQ(First(Steps(Prepend{"▁"}), "éa"), "▁é");
  EXPECT_EQ(First(Steps(Prepend{"▁"}), "éa", false), "é");
  EXPECT_EQ(First(Steps(Strip{true, true}), "éa"), "é");
  EXPECT_EQ(First(Steps(Strip{true, true}), " éa"), "");
  EXPECT_EQ(First(Steps(Replace{Regex("a"), "xy"}), "aab"), "xy");
  EXPECT_EQ(First(Steps(Replace{Regex("aa"), "xy"}), "aab"), "");
  EXPECT_EQ(First(Steps(Normalizer::Map{AppendLowercase}), "İa"), "i\u0307");
  EXPECT_EQ(First(Steps(UnicodeForm::kNfc), "e\u0301a"), "é");
  EXPECT_EQ(First(Steps(UnicodeForm::kNfc), "q\u0301a"), "q");
  EXPECT_EQ(First(Steps(UnicodeForm::kNfd), "éa"), "e\u0301");
  EXPECT_EQ(First(Steps(UnicodeForm::kNfkc), "½a"), "1⁄2");
  // A mark is composed with the first character across another mark, which stays.
  EXPECT_EQ(First(Steps(UnicodeForm::kNfd, UnicodeForm::kNfc), "Å\U000110BAa"), "Å");
  EXPECT_EQ(First(Steps(UnicodeForm::kNfd, UnicodeForm::kNfc, UnicodeForm::kNfd), "Å\U000110BAa"),
            "A");
}

TEST(Normalizer, NothingOfALaterPartStandsForTheFirstCharacter) {
  for (const Normalizer& normalizer :
       {Steps(Prepend{"▁"}), Steps(Replace{Regex("x*"), "-"}), Steps(UnicodeForm::kNfd),
        Steps(Normalizer::Map{AppendLowercase}), Steps(Strip{true, true})}) {
    EXPECT_EQ(normalizer.Apply({.text = "Éxa", .first_bytes = 0}, true).first_bytes, 0u);
  }
}

TEST(Normalizer, ALaterSectionGetsNothingBeforeIt) {
  const Normalizer prepend = Steps(Prepend{"▁"});
  EXPECT_EQ(prepend.Apply({.text = "a", .first_bytes = 1}, false).text, "a");
  // A text that follows an added token is not the beginning of the section.
  EXPECT_EQ(prepend.Apply({.text = "a", .first_bytes = 0}, false).text, "▁a");
  // The section begins with its first character, even if a step replaces that character.
  const Normalizer quotes = Steps(Replace{Regex("``"), "\""}, Prepend{"▁"});
  const StagedText staged = quotes.Apply({.text = "``a", .first_bytes = 1}, false);
  EXPECT_EQ(staged.text, "\"a");
  EXPECT_EQ(staged.first_bytes, 1u);
}

}  // namespace normalizer_test
}  // namespace scorecast::coordinator
