#include "launcher/address/address_file.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::launcher {
namespace address_file_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class AddressFileTest : public ::testing::Test {
 protected:
  std::filesystem::path Path() const { return directory_.path() / "address.json"; }
  bool Exists() const { return std::filesystem::exists(Path()); }
  std::string Text() const {
    std::ifstream file(Path());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  /// Runs `end`, which ends a process, in a child that has written the file and removes it at exit.
  void RunInWriter(const std::function<void()>& end) const {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      AddressFile::Write(Path(), own_).RemoveAtExit();
      end();
    }
    ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  }

  const reference::TempDirectory directory_;
  const ServiceAddress own_ = {
      .host = "h", .requests = {"10.0.0.7", 7}, .http = IpPort{"10.0.0.7", 8}, .pid = 9};
};

TEST_F(AddressFileTest, IsWrittenAndRemoved) {
  const AddressFile file = AddressFile::Write(Path(), own_);
  EXPECT_EQ(Text(), own_.ToJson());
  EXPECT_EQ(file.path(), Path());
  file.Remove();
  EXPECT_FALSE(Exists());
  file.Remove();
}

TEST_F(AddressFileTest, ThatOfAnotherServiceIsNotRemoved) {
  const AddressFile file = AddressFile::Write(Path(), own_);
  ServiceAddress other = own_;
  other.pid = 10;
  AddressFile::Write(Path(), other);
  file.Remove();
  EXPECT_EQ(Text(), other.ToJson());
}

TEST_F(AddressFileTest, AnotherProcessFindsAndRemovesIt) {
  EXPECT_FALSE(AddressFile::Find(Path()));
  AddressFile::Write(Path(), own_);
  const std::optional<AddressFile> found = AddressFile::Find(Path());
  ASSERT_TRUE(found);
  found->Remove();
  EXPECT_FALSE(Exists());
}

TEST_F(AddressFileTest, IsRemovedAtTheProcesssEnd) {
  RunInWriter([] { std::exit(0); });
  EXPECT_FALSE(Exists());
  RunInWriter([] { std::quick_exit(70); });
  EXPECT_FALSE(Exists());
  RunInWriter([] { raise(SIGKILL); });
  EXPECT_TRUE(Exists());
}

TEST_F(AddressFileTest, PrepareRemovesWhatAKilledServiceLeft) {
  for (const bool is_other_host : {true, false}) {
    ServiceAddress old = own_;
    (is_other_host ? old.host : old.requests.ip) = "other";
    AddressFile::Write(Path(), old);
    AddressFile::Prepare(Path(), own_);
    EXPECT_FALSE(Exists());
  }
  std::ofstream(Path()) << "something else";
  AddressFile::Prepare(Path(), own_);
  EXPECT_FALSE(Exists());
  AddressFile::Prepare(Path(), own_);
}

TEST_F(AddressFileTest, PrepareLeavesTheFileOfAServiceThatIsStartedAgain) {
  ServiceAddress old = own_;
  old.pid = 10;
  AddressFile::Write(Path(), old);
  AddressFile::Prepare(Path(), own_);
  EXPECT_EQ(Text(), old.ToJson());
}

TEST_F(AddressFileTest, FaultsAreFoundBeforeTheModelIsRead) {
  const auto expect = [&](const std::filesystem::path& path, const std::string& reason) {
    EXPECT_THAT(
        [&] { AddressFile::Prepare(path, own_); },
        ThrowsMessage<proto::StartupError>("--address-file " + path.string() + ": " + reason));
  };
  expect(directory_.path(), "it is not a regular file");
  expect("/dev/null", "it is not a regular file");
  expect("/nonexistent/address.json", "its directory does not exist");
  EXPECT_THAT([&] { AddressFile::Prepare("/proc/self/address.json", own_); },
              ThrowsMessage<proto::StartupError>(
                  HasSubstr("--address-file /proc/self/address.json: its directory: ")));
  EXPECT_THAT([&] { AddressFile::Write("/nonexistent/address.json", own_); },
              ThrowsMessage<proto::StartupError>(HasSubstr("cannot write /nonexistent/")));
}

}  // namespace address_file_test
}  // namespace scorecast::launcher
