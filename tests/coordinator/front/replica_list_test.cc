#include "coordinator/front/replica_list.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/coordinator/captured_log.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace replica_list_test {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Stands for the form of an address file: "at HOST:PORT".
proto::Expected<std::string, std::string> AddressOf(std::string_view contents) {
  if (!contents.starts_with("at ")) {
    return proto::Unexpected(std::string("it is no address file"));
  }
  return std::string(contents.substr(3));
}

class ReplicaListTest : public ::testing::Test {
 protected:
  void Write(const std::string& file, const std::string& contents) {
    std::ofstream(directory_.path() / file) << contents;
  }
  void Remove(const std::string& file) { fs::remove(directory_.path() / file); }
  ReplicaList Of(const std::string& file) { return {directory_.path() / file, AddressOf}; }

  const reference::TempDirectory directory_;
};

TEST_F(ReplicaListTest, IsThatOfAFile) {
  Write("list", "# two\n\n b  127.0.0.1:4464 \na [::1]:1\n");
  ReplicaList list = Of("list");
  EXPECT_THAT(list.replicas(), IsEmpty());
  EXPECT_TRUE(list.Look());
  EXPECT_THAT(list.replicas(),
              ElementsAre(ListedReplica{"b", "127.0.0.1:4464"}, ListedReplica{"a", "[::1]:1"}));
  EXPECT_FALSE(list.Look());
}

TEST_F(ReplicaListTest, NamesAddressFilesThatAppearMoveAndVanish) {
  Write("list", "a a.json\nb host:1\n");
  ReplicaList list = Of("list");
  EXPECT_TRUE(list.Look());
  EXPECT_THAT(list.replicas(), ElementsAre(ListedReplica{"b", "host:1"}));
  Write("a.json", "at host:2");
  EXPECT_TRUE(list.Look());
  EXPECT_THAT(list.replicas(),
              ElementsAre(ListedReplica{"a", "host:2"}, ListedReplica{"b", "host:1"}));
  Write("a.json", "at host:3");
  EXPECT_TRUE(list.Look());
  EXPECT_EQ(list.replicas().at(0).address, "host:3");
  Remove("a.json");
  EXPECT_FALSE(list.Look()) << "once is not enough";
  EXPECT_TRUE(list.Look());
  EXPECT_THAT(list.replicas(), ElementsAre(ListedReplica{"b", "host:1"}));
}

TEST_F(ReplicaListTest, ThatIsBeingWrittenLosesNoReplica) {
  Write("list", "a host:1\nb host:2\n");
  ReplicaList list = Of("list");
  EXPECT_TRUE(list.Look());
  for (const char* const part : {"", "a host:1\n", "a host:1\nb ho"}) {
    Write("list", part);
    list.Look();
    EXPECT_EQ(list.replicas().size(), 2U) << part;
    Write("list", "a host:1\nb host:2\n");
    list.Look();
    EXPECT_EQ(list.replicas().size(), 2U) << part;
  }
}

TEST_F(ReplicaListTest, MayLackTheEndOfItsLastLine) {
  Write("list", "a host:1\nb host:2");
  ReplicaList list = Of("list");
  EXPECT_TRUE(list.Look());
  EXPECT_THAT(list.replicas(), ElementsAre(ListedReplica{"a", "host:1"}))
      << "the port may be longer";
  EXPECT_TRUE(list.Look());
  EXPECT_THAT(list.replicas(),
              ElementsAre(ListedReplica{"a", "host:1"}, ListedReplica{"b", "host:2"}));
}

TEST_F(ReplicaListTest, IsThatOfADirectory) {
  Write("b.json", "at host:2");
  Write("a", "at host:1");
  Write("c.json.new", "at host:3");
  Write(".d", "at host:4");
  fs::create_directory(directory_.path() / "e");
  ReplicaList list(directory_.path(), AddressOf);
  EXPECT_TRUE(list.Look());
  EXPECT_THAT(list.replicas(),
              ElementsAre(ListedReplica{"a", "host:1"}, ListedReplica{"b", "host:2"}));
  Remove("a");
  EXPECT_FALSE(list.Look());
  EXPECT_TRUE(list.Look());
  EXPECT_THAT(list.replicas(), ElementsAre(ListedReplica{"b", "host:2"}));
}

TEST_F(ReplicaListTest, WithAFaultChangesNothing) {
  for (const char* broken :
       {"a host:2\nb\n", "a host:2\na host:3\n", "a host:2 more\n", "\x01 host:2\n"}) {
    Write("list", "a host:1\n");
    ReplicaList list = Of("list");
    EXPECT_TRUE(list.Look());
    Write("list", broken);
    EXPECT_FALSE(list.Look()) << broken;
    EXPECT_THAT(list.replicas(), ElementsAre(ListedReplica{"a", "host:1"})) << broken;
    Remove("list");
    EXPECT_FALSE(list.Look());
    EXPECT_THAT(list.replicas(), ElementsAre(ListedReplica{"a", "host:1"}));
  }
}

TEST_F(ReplicaListTest, WaitsForNoFifo) {
  ASSERT_EQ(mkfifo((directory_.path() / "fifo").c_str(), 0600), 0);
  const CapturedLog log;
  ReplicaList fifo = Of("fifo");
  EXPECT_FALSE(fifo.Look());
  EXPECT_THAT(log.text(), HasSubstr("fifo: not a regular file;"));
  Write("list", "a fifo\nb host:1\n");
  ReplicaList list = Of("list");
  EXPECT_TRUE(list.Look());
  EXPECT_THAT(list.replicas(), ElementsAre(ListedReplica{"b", "host:1"}));
}

TEST_F(ReplicaListTest, AFaultIsLoggedOnce) {
  Write("list", "a\n");
  ReplicaList list = Of("list");
  const CapturedLog log;
  list.Look();
  const std::string first = log.text();
  EXPECT_THAT(first, HasSubstr("line 1"));
  list.Look();
  EXPECT_EQ(log.text(), first);
  Write("list", "a host:1\n");
  list.Look();
  EXPECT_EQ(log.text(), first);
  Write("list", "a\n");
  list.Look();
  EXPECT_EQ(log.text(), first + first);
}

TEST_F(ReplicaListTest, ABrokenAddressFileLeavesItsReplicaWhereItWas) {
  Write("a", "at host:1");
  Write("b", "at host:2");
  ReplicaList list(directory_.path(), AddressOf);
  EXPECT_TRUE(list.Look());
  const CapturedLog log;
  Write("a", "nonsense");
  Write("b", "at host:3");
  Write("c", "at nowhere");
  EXPECT_TRUE(list.Look());
  EXPECT_THAT(list.replicas(),
              ElementsAre(ListedReplica{"a", "host:1"}, ListedReplica{"b", "host:3"}));
  const std::string first = log.text();
  EXPECT_THAT(first, HasSubstr("it is no address file"));
  EXPECT_THAT(first, HasSubstr("it has no HOST:PORT"));
  EXPECT_FALSE(list.Look());
  EXPECT_EQ(log.text(), first);
}

}  // namespace replica_list_test
}  // namespace scorecast::coordinator
