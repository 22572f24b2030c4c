#include "coordinator/transports/batch/run_state.h"

#include <limits>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace run_state_test {

using ::testing::HasSubstr;

RunState State() {
  RunState state;
  state.settings = {{"--dtype", "bf16"}, {"--chunk-separator", "\" # \n"}};
  state.build = "0.1.0 abc";
  state.seed = std::numeric_limits<std::uint64_t>::max();
  state.created = 1'700'000'000;
  state.output_bytes = 7;
  state.written = {.lines = 3, .input_bytes = 90, .input_digest = 1, .succeeded = 2, .refused = 1};
  state.next = {.lines = 5,
                .input_bytes = 120,
                .input_digest = std::numeric_limits<std::uint64_t>::max(),
                .succeeded = 3,
                .refused = 1,
                .error_records = 1};
  return state;
}

TEST(RunState, IsReadAsItWasWritten) {
  const RunState state = State();
  const auto read = RunState::FromText(state.ToText());
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(Differences(state.settings, read->settings), "");
  EXPECT_EQ(read->build, state.build);
  EXPECT_EQ(read->seed, state.seed);
  EXPECT_EQ(read->created, state.created);
  EXPECT_EQ(read->output_bytes, state.output_bytes);
  EXPECT_EQ(read->written, state.written);
  EXPECT_EQ(read->next, state.next);
}

TEST(RunState, ATextThatIsNoStateIsAnError) {
  const std::string text = State().ToText();
  EXPECT_FALSE(RunState::FromText(""));
  EXPECT_FALSE(RunState::FromText("{}"));
  EXPECT_FALSE(RunState::FromText(text.substr(0, text.size() / 2)));
  std::string other_format = text;
  other_format.replace(text.find("\"format\": 1"), 11, "\"format\": 9");
  const auto read = RunState::FromText(other_format);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error(), HasSubstr("its format is 9"));
  RunState backwards = State();
  std::swap(backwards.written, backwards.next);
  EXPECT_FALSE(RunState::FromText(backwards.ToText()));
  std::string no_number = text;
  no_number.replace(text.find("\"seed\": \"f"), 10, "\"seed\": \"x");
  EXPECT_FALSE(RunState::FromText(no_number));
}

TEST(Differences, NameWhatDiffers) {
  const RunSettings was = {{"--dtype", "f32"}, {"ranks", "2"}, {"old", "1"}, {"same", "s"}};
  const RunSettings is = {{"same", "s"}, {"ranks", "3"}, {"--dtype", "bf16"}, {"new", "2"}};
  EXPECT_EQ(Differences(was, is),
            "ranks was 2 and is 3, --dtype was f32 and is bf16, new was absent and is 2, old was 1 "
            "and is absent");
  EXPECT_EQ(Differences(was, was), "");
  EXPECT_EQ(Differences({{"a", ""}}, {}), "") << "an empty value is none";
}

}  // namespace run_state_test
}  // namespace scorecast::coordinator
