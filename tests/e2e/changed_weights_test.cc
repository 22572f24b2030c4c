// Weights that are overwritten or truncated while they are served end the service with a line that
// says so. No score is computed from them. Weights that are replaced by a rename do no harm.

#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace changed_weights_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The exit code that docs/operations.md names.
constexpr int kWeightsChangedExitCode = 74;

class ChangedWeights : public ::testing::TestWithParam<int> {
 protected:
  ChangedWeights() {
    BatchCommand command = NumberedCommand(GetParam());
    command.model = model_;
    service_ = std::make_unique<Service>(command);
    client_ = service_->Connect();
    client_->Send(NumberedRequest(1));
    before_ = ScoresOf(client_->Receive());
  }

  std::string Weights() const { return ReadFile(file_); }

  /// Expects that a request gets no response, and the service ends and names the file.
  void ExpectTheEnd(const std::string& reason) {
    // It ends at this request, if not before.
    EXPECT_ANY_THROW(client_->Call(NumberedRequest(1)));
    const ProcessResult result = service_->process().Wait();
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.signal, 0);
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("on host "), HasSubstr(file_.string()), HasSubstr(reason)));
    if (GetParam() == 0) {
      EXPECT_EQ(result.exit_code, kWeightsChangedExitCode);
    } else {
      EXPECT_NE(result.exit_code, 0);  // The code is that of the rank whose end mpirun saw first.
    }
  }

  const std::filesystem::path model_ = MakeModel("");
  const std::filesystem::path file_ = model_ / "model.safetensors";
  std::unique_ptr<Service> service_;
  std::unique_ptr<launcher::Client> client_;
  Scores before_;
};

TEST_P(ChangedWeights, OverwrittenInPlace) {
  std::string weights = Weights();
  for (std::size_t at = weights.size() / 2; at < weights.size(); ++at) {
    weights[at] = static_cast<char>(weights[at] ^ 1);
  }
  WriteFile(file_, weights);
  ExpectTheEnd("overwritten");
}

TEST_P(ChangedWeights, Truncated) {
  std::filesystem::resize_file(file_, 1000);
  ExpectTheEnd("truncated");
}

TEST_P(ChangedWeights, WithoutAnyRequest) {
  std::filesystem::resize_file(file_, 1000);
  EXPECT_THAT(service_->process().ErrorLineWith("truncated"), HasSubstr(file_.string()));
}

TEST_P(ChangedWeights, ReplacedByARename) {
  WriteFile(model_ / "new", std::string(Weights().size(), '\0'));
  std::filesystem::rename(model_ / "new", file_);
  client_->Send(NumberedRequest(1));
  EXPECT_EQ(ScoresOf(client_->Receive()), before_);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ChangedWeights, ::testing::Values(0, 2));

}  // namespace changed_weights_test
}  // namespace scorecast::testing
