#include "coordinator/transports/batch/run_state.h"

#include <cstddef>
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
  state.weights = {{"the CRC-32C of model.safetensors", "0123abcd"}};
  state.build = "0.1.0 abc";
  state.seed = std::numeric_limits<std::uint64_t>::max();
  state.created = 1'700'000'000;
  state.model_name = "m";
  state.output_bytes = 7;
  state.output_digest = 0xfedcba9876543210;
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
  EXPECT_EQ(read->weights, state.weights);
  EXPECT_EQ(read->build, state.build);
  EXPECT_EQ(read->seed, state.seed);
  EXPECT_EQ(read->created, state.created);
  EXPECT_EQ(read->model_name, state.model_name);
  EXPECT_EQ(read->output_bytes, state.output_bytes);
  EXPECT_EQ(read->output_digest, state.output_digest);
  EXPECT_EQ(read->written, state.written);
  EXPECT_EQ(read->next, state.next);
}

/// What is wrong with a text in which one part is replaced.
std::string FaultOfState(const std::string& part, const std::string& replacement) {
  std::string text = State().ToText();
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  const auto read = RunState::FromText(text.replace(at, part.size(), replacement));
  EXPECT_FALSE(read) << text;
  return read ? "" : read.error();
}

TEST(RunState, ABrokenTextIsDescribedInPlainWords) {
  const std::string advice = "): put the run's own file back";
  const std::string text = State().ToText();
  EXPECT_EQ(RunState::FromText("").error(), "is broken (it is empty" + advice);
  EXPECT_EQ(RunState::FromText("{}").error(), "is broken (it has no format" + advice);
  EXPECT_EQ(RunState::FromText("[]").error(), "is broken (it is not an object" + advice);
  for (const std::string& no_json :
       {text.substr(0, text.size() / 2), text + "}", std::string(100, '\0')}) {
    EXPECT_EQ(RunState::FromText(no_json).error(), "is broken (it is not JSON" + advice);
  }
  EXPECT_EQ(FaultOfState("\"seed\": \"f", "\"seed\": \"x"),
            "is broken (it has \"xfffffffffffffff\" for a hexadecimal number" + advice);
  EXPECT_EQ(FaultOfState("\"output_bytes\": 7", "\"output_bytes\": -7"),
            "is broken (its output_bytes is negative" + advice);
  EXPECT_EQ(FaultOfState("\"output_bytes\": 7", "\"output_bytes\": []"),
            "is broken (its output_bytes has another type" + advice);
  EXPECT_EQ(FaultOfState("\"--dtype\": \"bf16\"", "\"--dtype\": 16"),
            "is broken (its settings has another type" + advice);
  EXPECT_EQ(FaultOfState("\"written\"", "\"writtem\""), "is broken (it has no written" + advice);
  EXPECT_EQ(FaultOfState("\"lines\": 5", "\"lines\": 2"),
            "is broken (its points are out of order" + advice);
}

TEST(RunState, AStateOfAnotherVersionNamesTheBuildThatGoesOn) {
  EXPECT_EQ(FaultOfState("\"format\": 3", "\"format\": 2"),
            "has format 2 and not 3: go on with the build of scorecast that began the run "
            "(0.1.0 abc)");
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
