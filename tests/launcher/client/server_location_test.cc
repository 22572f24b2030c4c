#include "launcher/client/server_location.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "launcher/address/address_file.h"
#include "launcher/client/client.h"
#include "launcher/client/retrying_call.h"
#include "proto/wire/frame.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::launcher {
namespace server_location_test {

using boost::asio::ip::tcp;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ServerLocationTest : public ::testing::Test {
 protected:
  void Write(const std::string& host, const std::string& ip, std::uint16_t port) const {
    AddressFile::Write(path_, {.host = host, .requests = {ip, port}, .http = {}, .pid = 1});
  }

  const reference::TempDirectory directory_;
  const std::filesystem::path path_ = directory_.path() / "address.json";
  const ServerLocation location_ = ServerLocation::InFile(path_);
};

TEST_F(ServerLocationTest, IsAnAddressOrThatOfAFileNow) {
  const ServerLocation fixed = ServerLocation::At("h:1");
  EXPECT_EQ(fixed.Address(), "h:1");
  EXPECT_EQ(fixed.Name(), "h:1");
  EXPECT_EQ(location_.Name(), "the service of " + path_.string());
  Write("another", "10.0.0.7", 7);
  EXPECT_EQ(location_.Address(), "10.0.0.7:7");
  Write("another", "2001:db8::1", 8);
  EXPECT_EQ(location_.Address(), "[2001:db8::1]:8");
}

TEST_F(ServerLocationTest, AMissingFileMayComeButOthersDoNotBecomeRight) {
  EXPECT_THAT([&] { location_.Address(); },
              ThrowsMessage<ConnectionLost>(
                  HasSubstr("cannot read " + path_.string() + ": No such file or directory")));
  std::ofstream(path_) << "not an address\n";
  EXPECT_THAT([&] { location_.Address(); },
              ThrowsMessage<std::runtime_error>(path_.string() +
                                                " is not a file that serve --address-file writes"));
  EXPECT_THROW(
      try { location_.Address(); } catch (const ConnectionLost&){}, std::runtime_error)
      << "it is not tried again";
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT([&] { location_.Address(); },
              ThrowsMessage<std::runtime_error>(path_.string() + " is not a regular file"))
      << "and its opening does not wait for a writer";
}

TEST_F(ServerLocationTest, AnAddressThatOnlyAnotherHostCanReachIsAFault) {
  Write("another", "127.0.0.1", 7);
  EXPECT_THAT([&] { location_.Address(); },
              ThrowsMessage<std::runtime_error>(
                  HasSubstr("listens on 127.0.0.1 of host another only; start it with --host")));
  Write(OwnHostName(), "127.0.0.1", 7);
  EXPECT_EQ(location_.Address(), "127.0.0.1:7");
}

// As if the job was requeued: first there is an old address, then none, then a new one.
TEST_F(ServerLocationTest, ACallFollowsTheFile) {
  boost::asio::io_context io;
  tcp::acceptor old(io, tcp::v4());
  old.bind({boost::asio::ip::make_address("127.0.0.1"), 0});  // Refuses.
  Write(OwnHostName(), "127.0.0.1", old.local_endpoint().port());
  tcp::acceptor acceptor(io, {boost::asio::ip::make_address("127.0.0.1"), 0});
  std::thread service([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::filesystem::remove(path_);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    Write(OwnHostName(), "127.0.0.1", acceptor.local_endpoint().port());
    tcp::socket socket = acceptor.accept();
    proto::FrameHeader header{};
    boost::asio::read(socket, boost::asio::buffer(header));
    std::string message(proto::FrameLength(header), '\0');
    boost::asio::read(socket, boost::asio::buffer(message));
    v1::Response response;
    response.mutable_score()->set_model("m");
    boost::asio::write(socket, boost::asio::buffer(proto::ToFrame(response)));
  });
  v1::Request request;
  request.mutable_score()->mutable_query()->set_text("q");
  EXPECT_EQ(RetryingCall(location_, request, {.timeout = std::chrono::seconds(60)}).score().model(),
            "m");
  service.join();
}

}  // namespace server_location_test
}  // namespace scorecast::launcher
