// Rank 0's side of the connection to its supervisor, before a supervisor that the test plays.

#include "launcher/supervisor/supervisor_link.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "coordinator/transports/connection/listening_socket.h"
#include "launcher/supervisor/message.h"
#include "proto/base/error.h"

namespace scorecast::launcher {
namespace supervisor_link_test {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Whether two descriptors are the same socket.
bool IsSameSocket(int a, int b) {
  struct stat of_a {};
  struct stat of_b {};
  return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_ino == of_b.st_ino;
}

class SupervisorLinkTest : public ::testing::Test {
 protected:
  SupervisorLinkTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    supervisor_ = Descriptor(ends[0]);
    link_ = std::make_unique<SupervisorLink>(Descriptor(ends[1]), [this] { lost_.set_value(); });
  }

  std::string NextText() {
    const std::optional<Message> message = Receive(supervisor_.get());
    return message ? message->text : "the end";
  }

  std::promise<void> lost_;
  Descriptor supervisor_;
  std::unique_ptr<SupervisorLink> link_;
};

TEST_F(SupervisorLinkTest, ReceivesASocketThatListensForBothSides) {
  const Descriptor opened(coordinator::OpenBoundSocket("127.0.0.1", 0));
  ASSERT_TRUE(Send(supervisor_.get(), "socket", opened.get()));
  const Descriptor given = link_->Socket("requests", "a host", 7400);
  EXPECT_TRUE(IsSameSocket(given.get(), opened.get()));
  EXPECT_FALSE(coordinator::IsListeningSocket(opened.get()));
  coordinator::Listen(given.get());
  EXPECT_TRUE(coordinator::IsListeningSocket(opened.get()));
  EXPECT_NE(fcntl(given.get(), F_GETFD) & FD_CLOEXEC, 0) << "programs that it starts have it not";

  const std::optional<Message> message = Receive(supervisor_.get());
  ASSERT_TRUE(message);
  const std::optional<SocketRequest> request = SocketRequest::FromMessage(*message);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->name, "requests");
  EXPECT_EQ(request->host, "a host");
  EXPECT_EQ(request->port, 7400);
}

TEST_F(SupervisorLinkTest, ReportsTheSupervisorsFault) {
  ASSERT_TRUE(Send(supervisor_.get(), "error cannot listen on h:1: Permission denied"));
  EXPECT_THAT([&] { link_->Socket("requests", "h", 1); },
              ThrowsMessage<proto::StartupError>("cannot listen on h:1: Permission denied"));
}

TEST_F(SupervisorLinkTest, ASupervisorThatIsGoneOrSendsNoSocketIsAFault) {
  ASSERT_TRUE(Send(supervisor_.get(), "socket"));
  EXPECT_THAT([&] { link_->Socket("requests", "h", 1); },
              ThrowsMessage<proto::StartupError>(HasSubstr("sent no socket")));
  supervisor_.Reset();
  EXPECT_THAT([&] { link_->Socket("requests", "h", 1); },
              ThrowsMessage<proto::StartupError>(HasSubstr("gone")));
  EXPECT_THAT([&] { link_->Listening(); }, ThrowsMessage<proto::StartupError>(HasSubstr("gone")));
}

TEST_F(SupervisorLinkTest, TellsItsState) {
  link_->Listening();
  link_->Ready(milliseconds(12000));
  link_->Draining();
  EXPECT_EQ(NextText(), "listening");
  EXPECT_EQ(NextText(), "ready 12000");
  EXPECT_EQ(NextText(), "draining");
  link_.reset();
  EXPECT_EQ(NextText(), "the end");
}

TEST_F(SupervisorLinkTest, NoticesTheSupervisorsEnd) {
  link_->Ready(milliseconds(0));
  supervisor_.Reset();
  EXPECT_EQ(lost_.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST_F(SupervisorLinkTest, DoesNotReportTheSupervisorsEndWhileItDrains) {
  link_->Ready(milliseconds(0));
  link_->Draining();
  supervisor_.Reset();
  EXPECT_EQ(lost_.get_future().wait_for(milliseconds(800)), std::future_status::timeout);
}

TEST(Messages, ThatAskForNoSocketAreRecognised) {
  for (const std::string text :
       {"", "socket", "socket requests", "socket requests 7400", "socket requests 70000 h",
        "socket requests x h", "socket requests  h", "sockets requests 1 h", "listening"}) {
    EXPECT_FALSE(SocketRequest::FromMessage({text, {}})) << text;
  }
}

TEST(SupervisorLinkConnect, IsNullWithoutASupervisor) {
  unsetenv(kSupervisorVariable);
  EXPECT_EQ(SupervisorLink::Connect([] {}), nullptr);
}

TEST(SupervisorLinkConnect, SaysThatTheSupervisorCannotBeReached) {
  setenv(kSupervisorVariable, "/nonexistent/socket", 1);
  EXPECT_THAT([] { SupervisorLink::Connect([] {}); },
              ThrowsMessage<proto::StartupError>(HasSubstr("/nonexistent/socket")));
  unsetenv(kSupervisorVariable);
}

}  // namespace supervisor_link_test
}  // namespace scorecast::launcher
