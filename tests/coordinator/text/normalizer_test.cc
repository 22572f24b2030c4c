#include "coordinator/text/normalizer.h"

#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace {

std::string Nfc(std::string_view text) { return Normalize(Normalization::kNfc, text); }

TEST(Normalizer, NoneLeavesTextAsItIs) {
  EXPECT_EQ(Normalize(Normalization::kNone, "e\u0301"), "e\u0301");
}

// From Unicode's NormalizationTest.txt (source column, NFC column).
TEST(Normalizer, NfcComposesAndOrders) {
  EXPECT_EQ(Nfc("plain"), "plain");
  EXPECT_EQ(Nfc("\u1E0A"), "\u1E0A");
  EXPECT_EQ(Nfc("D\u0307\u0323"), "\u1E0C\u0307");
  EXPECT_EQ(Nfc("\u1E0A\u0323"), "\u1E0C\u0307");
  EXPECT_EQ(Nfc("D\u031B\u0307\u0323"), "\u1E0C\u031B\u0307");
  EXPECT_EQ(Nfc("\u212B"), "\u00C5");
  EXPECT_EQ(Nfc("\u0344"), "\u0308\u0301");
  EXPECT_EQ(Nfc("\u1100\u1161\u11A8"), "\uAC01");
  EXPECT_EQ(Nfc("\uAC00\u11A8"), "\uAC01");
  EXPECT_EQ(Nfc("\u0958"), "\u0915\u093C");  // a composition exclusion
  EXPECT_EQ(Nfc("\U0001D15E"), "\U0001D157\U0001D165");
  EXPECT_EQ(Nfc("a\u0315\u0300\u05AE\u0300b"), "\u00E0\u05AE\u0300\u0315b");
  EXPECT_EQ(Nfc("e\u0301\u0301"), "\u00E9\u0301");
}

// Swapping neighbours would take 10^11 steps here.
TEST(Normalizer, ALongRunOfMarksIsOrdered) {
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

}  // namespace
}  // namespace scorecast::coordinator
