#include "coordinator/text/unicode/unicode_form.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace unicode_form_test {

std::string Nfc(std::string_view text) { return ToUnicodeForm(UnicodeForm::kNfc, text); }

// From Unicode's NormalizationTest.txt (source column, NFC column).
TEST(UnicodeForm, NfcComposesAndOrders) {
  EXPECT_EQ(Nfc("plain"), "plain");
  EXPECT_EQ(Nfc("\u1E0A"), "\u1E0A");
  EXPECT_EQ(Nfc("D\u0307\u0323"), "\u1E0C\u0307");
  EXPECT_EQ(Nfc("\u1E0A\u0323"), "\u1E0C\u0307");
  EXPECT_EQ(Nfc("D\u031B\u0307\u0323"), "\u1E0C\u031B\u0307");
  EXPECT_EQ(Nfc("\u212B"), "\u00C5");
  EXPECT_EQ(Nfc("\u0344"), "\u0308\u0301");
  EXPECT_EQ(Nfc("\u1100\u1161\u11A8"), "\uAC01");
  EXPECT_EQ(Nfc("\uAC00\u11A8"), "\uAC01");
  EXPECT_EQ(Nfc("\uAC00\u11A7\u11A7\u11A8"), "\uAC00\u11A7\u11A7\u11A8");
  EXPECT_EQ(Nfc("\u1100\u1161\u11A7e\u0301"), "\uAC00\u11A7\u00E9");
  EXPECT_EQ(Nfc("\u0958"), "\u0915\u093C");  // a composition exclusion
  EXPECT_EQ(Nfc("\U0001D15E"), "\U0001D157\U0001D165");
  EXPECT_EQ(Nfc("a\u0315\u0300\u05AE\u0300b"), "\u00E0\u05AE\u0300\u0315b");
  EXPECT_EQ(Nfc("e\u0301\u0301"), "\u00E9\u0301");
}

// Swapping neighbours would take 10^11 steps here.
TEST(UnicodeForm, ALongRunOfMarksIsOrdered) {
  std::string mixed;
  std::string below;
  std::string above;
  for (int i = 0; i < 300'000; ++i) {
    mixed += "\u0301\u0323";  // classes 230 and 220
    below += "\u0323";
    above += "\u0301";
  }
  EXPECT_TRUE(Nfc("x" + mixed) == "x" + below + above);
}

// From Unicode's NormalizationTest.txt (source column; NFC, NFD, NFKC and NFKD columns).
TEST(UnicodeForm, OtherFormsDecomposeAndReplace) {
  const auto forms = [](std::string_view text) {
    return std::vector<std::string>{
        ToUnicodeForm(UnicodeForm::kNfc, text), ToUnicodeForm(UnicodeForm::kNfd, text),
        ToUnicodeForm(UnicodeForm::kNfkc, text), ToUnicodeForm(UnicodeForm::kNfkd, text)};
  };
  using Forms = std::vector<std::string>;
  EXPECT_EQ(forms("plain\n"), Forms(4, "plain\n"));
  EXPECT_EQ(forms("\u1E69"), (Forms{"\u1E69", "s\u0323\u0307", "\u1E69", "s\u0323\u0307"}));
  EXPECT_EQ(forms("\uFB01"), (Forms{"\uFB01", "\uFB01", "fi", "fi"}));
  EXPECT_EQ(forms("\u1E9B\u0323"),
            (Forms{"\u1E9B\u0323", "\u017F\u0323\u0307", "\u1E69", "s\u0323\u0307"}));
  EXPECT_EQ(forms("\uAC00"), (Forms{"\uAC00", "\u1100\u1161", "\uAC00", "\u1100\u1161"}));
  EXPECT_EQ(ToUnicodeForm(UnicodeForm::kNfkc, "\uFDFA").size(), 33u);  // the longest one
}

// The reference's tables are older: they have no decomposition of the sign for the era Reiwa.
TEST(UnicodeForm, CharactersNewToTheReferenceStay) {
  EXPECT_EQ(ToUnicodeForm(UnicodeForm::kNfkc, "\u32FE\u32FF"), "\u30F2\u32FF");
}

}  // namespace unicode_form_test
}  // namespace scorecast::coordinator
