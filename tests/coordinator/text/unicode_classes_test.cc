#include "coordinator/text/unicode/unicode_classes.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace unicode_classes_test {

struct Members {
  std::int64_t count = 0;
  std::int64_t sum = 0;  ///< The sum of the code points.

  friend bool operator==(const Members&, const Members&) = default;
};

Members MembersOf(bool (*is_member)(char32_t)) {
  Members members;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (is_member(c) && (c < 0xD800 || c > 0xDFFF)) {
      ++members.count;
      members.sum += c;
    }
  }
  return members;
}

// The figures are those of the characters that the reference's BertNormalizer removes or puts
// spaces around, each of which was tried (tokenizers 0.22.2). It removes U+FFFD, too, and keeps
// tab, line feed and carriage return.
TEST(UnicodeClasses, AreThoseOfTheReferencesBertNormalizer) {
  EXPECT_EQ(MembersOf(IsControl), (Members{.count = 137'683, .sum = 137'913'019'292}));
  EXPECT_EQ(MembersOf(IsNonspacingMark), (Members{.count = 1'567, .sum = 262'554'314}));
  EXPECT_EQ(MembersOf(IsChinese), (Members{.count = 81'264, .sum = 9'171'601'864}));
}

// The same for StripAccents (tokenizers 0.23.3).
TEST(UnicodeClasses, AreThoseOfTheReferencesStripAccents) {
  EXPECT_EQ(MembersOf(IsMark), (Members{.count = 2'097, .sum = 286'880'651}));
}

}  // namespace unicode_classes_test
}  // namespace scorecast::coordinator
