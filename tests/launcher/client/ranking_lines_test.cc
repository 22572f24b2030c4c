#include "launcher/client/ranking_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace ranking_lines_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RankingLines, HaveAScoreABarAndTheText) {
  EXPECT_THAT(RankingLines({{1, "a"}, {0.5, "b\nc"}, {0.00625, ""}, {0, "d"}}, 0),
              ElementsAre("  1.0000 ████████████████████ a",  //
                          "  0.5000 ██████████           b c",
                          "  0.0063 ▏                    ",  //
                          "  0.0000                      d"));
  EXPECT_THAT(RankingLines({}, 80), IsEmpty());
}

TEST(RankingLines, ScaleScoresThatAreNoProbabilities) {
  EXPECT_THAT(RankingLines({{3, "a"}, {1, "b"}, {-5, "c"}}, 0),
              ElementsAre("  3.0000 ████████████████████ a",  //
                          "  1.0000 ███████████████      b", " -5.0000                      c"));
  EXPECT_THAT(RankingLines({{2, "a"}}, 0), ElementsAre("  2.0000 ████████████████████ a"));
}

TEST(RankingLines, FitTheTerminal) {
  const std::string start = "  1.0000 ████████ ";  // 18 columns.
  EXPECT_THAT(RankingLines({{1, "abcde"}, {1, "abcdef"}}, 23),
              ElementsAre(start + "abcde", start + "abcd…"));
  EXPECT_THAT(RankingLines({{1, "日本"}, {1, "日本語"}, {1, "a日本"}}, 23),
              ElementsAre(start + "日本", start + "日本…", start + "a日本"))
      << "such characters take two columns";
  EXPECT_THAT(RankingLines({{1, "日本語日"}}, 24), ElementsAre(start + "日本…"));
  EXPECT_THAT(RankingLines({{1, "\xff\xffz"}}, 80),
              ElementsAre("  1.0000 ████████████████████ \xff\xffz"));
  EXPECT_THAT(RankingLines({{1, "abc"}}, 5), ElementsAre(start + "…"));
}

}  // namespace ranking_lines_test
}  // namespace scorecast::launcher
