// How `scorecast batch` shows its progress: by a bar on a terminal, otherwise by a line every ten
// seconds.

#include <array>
#include <chrono>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/models.h"
#include "tests/e2e/process.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace batch_progress_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

std::string Line(int query) {
  return ScoreLine("a", {{"query", {query}}, {"items", {{3}}}, {"label_token_ids", {1, 2}}});
}

TEST(BatchProgress, ALineEveryTenSeconds) {
  const std::filesystem::path model = MakeModel("");
  Process process({.arguments = {kScorecastProgram, "batch", "--model", model.string(), "--input",
                                 "-", "--output", "-"}});
  process.Send(Line(1) + Line(2));
  EXPECT_FALSE(process.ReadLine().empty());
  EXPECT_FALSE(process.ReadLine().empty());
  EXPECT_THAT(process.ErrorLineWith("progress: 2 "),
              MatchesRegex(".* info progress: 2 lines, [0-9.]+ lines/s"));
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("\x1B"))) << "this is no terminal";
}

TEST(BatchProgress, ABarOnATerminal) {
  const std::filesystem::path dir = NewDirectory();
  const std::filesystem::path model = MakeModel("");
  WriteFile(dir / "in.jsonl", Line(1) + Line(2));
  int terminal = -1;
  const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, &size);
  if (pid == 0) {
    execl(kScorecastProgram, kScorecastProgram, "batch", "--model", model.c_str(), "--input",
          (dir / "in.jsonl").c_str(), "--output", (dir / "out.jsonl").c_str(), nullptr);
    _exit(127);
  }
  ASSERT_GT(pid, 0);
  std::string text;
  std::array<char, 4096> buffer{};
  // The terminal ends with an error when the process has closed it.
  for (ssize_t bytes = 0; (bytes = read(terminal, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  close(terminal);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0) << text;
  // However fast the run is, the first bar shows its beginning. Others may follow.
  const std::size_t bar = text.find("[--------------------]   0 %  0 lines\x1B[K\r");
  ASSERT_NE(bar, std::string::npos) << text;
  EXPECT_THAT(text.substr(0, bar), Not(HasSubstr(" %  ")));
  EXPECT_THAT(text, Not(HasSubstr("progress: ")));
  const std::size_t end = text.find("2 answered, 0 refused, 0 error records");
  ASSERT_NE(end, std::string::npos) << text;
  EXPECT_THAT(text.substr(end), Not(HasSubstr("%"))) << "the bar goes when the run ends";
}

}  // namespace batch_progress_test
}  // namespace scorecast::testing
