#include "coordinator/front/replica_watch.h"

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/front/fake_replica.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace replica_watch_test {

using ::testing::ElementsAre;

TEST(ReplicaWatch, TellsTheListAtFirstAndWhenItChanges) {
  const reference::TempDirectory directory;
  const auto write = [&](const std::string& text) {
    std::ofstream(directory.path() / "next") << text;
    std::filesystem::rename(directory.path() / "next", directory.path() / "list");
  };
  write("a host:1\n");
  boost::asio::io_context io;
  const auto work = boost::asio::make_work_guard(io);
  std::vector<std::string> told;
  ReplicaList list(directory.path() / "list", [](std::string_view contents) {
    return proto::Expected<std::string, std::string>(std::string(contents));
  });
  auto watch = std::make_unique<ReplicaWatch>(
      std::move(list), io.get_executor(),
      [&](const std::vector<ListedReplica>& replicas) {
        told.emplace_back();
        for (const ListedReplica& replica : replicas) {
          told.back() += replica.name + " " + replica.address + ";";
        }
      },
      std::chrono::milliseconds(5));
  ASSERT_TRUE(RunUntil(io, [&] { return told.size() == 1; }));
  write("a host:2\nb host:3\n");
  ASSERT_TRUE(RunUntil(io, [&] { return told.size() == 2; }));
  EXPECT_THAT(told, ElementsAre("a host:1;", "a host:2;b host:3;"));
  watch = nullptr;
  io.restart();
  io.run_for(std::chrono::milliseconds(1));
  EXPECT_EQ(told.size(), 2U);
}

}  // namespace replica_watch_test
}  // namespace scorecast::coordinator
