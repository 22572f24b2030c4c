#include "coordinator/generate/stop_strings.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace stop_strings_test {

using Strings = std::vector<std::string>;

/// The part of a text that is shown if the text arrives in pieces of `size` bytes.
std::string Cut(const Strings& stops, const std::string& text, std::size_t size) {
  StopStrings stop_strings(stops);
  std::string shown;
  for (std::size_t i = 0; i < text.size(); i += size) {
    shown += stop_strings.Push(text.substr(i, size));
  }
  return shown + stop_strings.Finish();
}

TEST(StopStrings, TheTextEndsBeforeTheFirstStopString) {
  for (std::size_t size = 1; size <= 12; ++size) {
    SCOPED_TRACE(size);
    EXPECT_EQ(Cut({}, "some text", size), "some text");
    EXPECT_EQ(Cut({""}, "some text", size), "some text");
    EXPECT_EQ(Cut({"me t"}, "some text", size), "so");
    EXPECT_EQ(Cut({"some text"}, "some text", size), "");
    EXPECT_EQ(Cut({"some text "}, "some text", size), "some text");
    EXPECT_EQ(Cut({"xt", "m"}, "some text", size), "so");
    // One stop string is the beginning of another.
    EXPECT_EQ(Cut({"me", "me t", "m"}, "some text", size), "so");
    EXPECT_EQ(Cut({"tex!", "te!"}, "some text", size), "some text");
    // One stop string is the end of another. Both are complete at the same place, and the longer
    // one counts.
    EXPECT_EQ(Cut({"e t", "ome t"}, "some text", size), "s");
    // One stop string lies inside another, and is complete before it.
    EXPECT_EQ(Cut({"ome t", "me"}, "some text", size), "so");
    // A match that fails overlaps with one that succeeds.
    EXPECT_EQ(Cut({"aab"}, "aaaab", size), "aa");
    EXPECT_EQ(Cut({"abab!"}, "abababab!", size), "abab");
  }
}

TEST(StopStrings, TextThatMayBecomeAStopStringIsHeldBack) {
  StopStrings stop_strings({"\n\nQ:", "\n."});
  EXPECT_EQ(stop_strings.Push("yes"), "yes");
  EXPECT_EQ(stop_strings.Push("\n"), "");
  EXPECT_EQ(stop_strings.Push("\n"), "");
  EXPECT_EQ(stop_strings.Push("\nQ"), "\n");
  EXPECT_EQ(stop_strings.Push("no"), "\n\nQno");
  EXPECT_EQ(stop_strings.Push(" end\n\nQ:more"), " end");
  EXPECT_TRUE(stop_strings.found());
  EXPECT_EQ(stop_strings.Push("more"), "");
  EXPECT_EQ(stop_strings.Finish(), "");
}

TEST(StopStrings, TheTextEndsWithAStopStringThatIsToBeShown) {
  for (std::size_t size = 1; size <= 12; ++size) {
    StopStrings stop_strings({"e t", "ome t", "xt"}, /*shows_stop=*/true);
    const std::string text = "some text";
    std::string shown;
    for (std::size_t i = 0; i < text.size(); i += size) {
      shown += stop_strings.Push(text.substr(i, size));
    }
    EXPECT_EQ(shown, "some t");
    EXPECT_TRUE(stop_strings.found());
  }
}

TEST(StopStrings, EndOnlyWhereTheTextMayStop) {
  StopStrings stop_strings({"ab", "bab"});
  EXPECT_EQ(stop_strings.Push("xabab", /*may_stop=*/false), "xaba");
  EXPECT_FALSE(stop_strings.found());
  EXPECT_EQ(stop_strings.Push("ab"), "") << "begins in text that could not stop";
  EXPECT_TRUE(stop_strings.found());
  StopStrings other({"ab"});
  EXPECT_EQ(other.Push("ab", /*may_stop=*/false), "ab");
  EXPECT_EQ(other.Push("cab"), "c");
  EXPECT_TRUE(other.found());
}

TEST(StopStrings, TextHeldBackIsShownAtTheEnd) {
  StopStrings stop_strings({"abc"});
  EXPECT_EQ(stop_strings.Push("xab"), "x");
  EXPECT_EQ(stop_strings.Finish(), "ab");
  EXPECT_FALSE(stop_strings.found());
}

// Compared with a plain search, after every piece of random texts.
TEST(StopStrings, AreFoundWhereAPlainSearchFindsThem) {
  std::mt19937 random(21);
  const auto text_of = [&](std::size_t characters) {
    static const Strings kCharacters = {"a", "b", "é", "è"};
    std::string text;
    for (std::size_t i = 0; i < characters; ++i) {
      text += kCharacters[random() % kCharacters.size()];
    }
    return text;
  };
  int found = 0;
  for (int round = 0; round < 20'000; ++round) {
    Strings stops;
    for (std::size_t i = random() % 4; i > 0; --i) {
      stops.push_back(text_of(1 + random() % 5));
    }
    StopStrings stop_strings(stops);
    std::string text;
    std::string shown;
    bool is_found = false;
    for (int piece = 0; piece < 8 && !is_found; ++piece) {
      const std::string added = text_of(random() % 4);
      std::string expected;
      for (const char c : added) {
        text += c;
        expected = text;
        for (const std::string& stop : stops) {
          if (text.ends_with(stop)) {
            is_found = true;
            expected = std::min(expected, text.substr(0, text.size() - stop.size()));
          }
        }
        if (is_found) {
          break;
        }
      }
      if (!is_found) {
        std::size_t held = 0;
        for (const std::string& stop : stops) {
          for (std::size_t length = 1; length < stop.size(); ++length) {
            if (text.ends_with(stop.substr(0, length))) {
              held = std::max(held, length);
            }
          }
        }
        expected = text.substr(0, text.size() - held);
      }
      shown += stop_strings.Push(added);
      ASSERT_EQ(shown, expected) << text << " with " << testing::PrintToString(stops);
      ASSERT_EQ(stop_strings.found(), is_found);
    }
    found += is_found ? 1 : 0;
    if (!is_found) {
      ASSERT_EQ(shown + stop_strings.Finish(), text);
    }
  }
  EXPECT_GT(found, 5'000);
  EXPECT_LT(found, 15'000);
}

}  // namespace stop_strings_test
}  // namespace scorecast::coordinator
