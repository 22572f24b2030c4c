#include "launcher/supervisor/systemd_sockets.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "coordinator/transports/connection/listening_socket.h"

namespace scorecast::launcher {
namespace systemd_sockets_test {

using Sockets = std::map<std::string, Descriptor>;

/// Ends this process, which is a child of the test, with 0 if `holds` is true of the sockets that
/// it takes from systemd, with 1 if not, and with 2 and a message if it takes none. As systemd
/// does, it has `descriptors` from 3 on.
[[noreturn]] void TakeAndExit(std::vector<int> descriptors, const std::string& names,
                              const std::function<bool(const Sockets&)>& holds) {
  for (int& descriptor : descriptors) {
    descriptor = dup2(descriptor, 100 + descriptor);  // Away from where the copies go.
  }
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    dup2(descriptors[i], 3 + static_cast<int>(i));
  }
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  setenv("LISTEN_FDS", std::to_string(descriptors.size()).c_str(), 1);
  setenv("LISTEN_FDNAMES", names.c_str(), 1);
  try {
    const Sockets sockets = TakeSystemdSockets();
    const bool is_clean = std::getenv("LISTEN_FDS") == nullptr;
    _exit(is_clean && holds(sockets) ? 0 : 1);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    _exit(2);
  }
}

bool NotReached(const Sockets&) { return false; }

class SystemdSockets : public ::testing::Test {
 protected:
  const Descriptor first_{coordinator::OpenListeningSocket("127.0.0.1", 0)};
  const Descriptor second_{coordinator::OpenListeningSocket("127.0.0.1", 0)};
};

TEST_F(SystemdSockets, AreTakenByName) {
  EXPECT_EXIT(TakeAndExit({first_.get(), second_.get()}, "http:requests",
                          [](const Sockets& sockets) {
                            return sockets.size() == 2 && sockets.at("http").get() == 3 &&
                                   sockets.at(kRequestSocket).get() == 4;
                          }),
              ::testing::ExitedWithCode(0), "");
}

TEST_F(SystemdSockets, TheOnlyOneIsTheRequestSocket) {
  EXPECT_EXIT(TakeAndExit({first_.get()}, "scorecast.socket",
                          [](const Sockets& sockets) {
                            return sockets.size() == 1 && sockets.at(kRequestSocket).get() == 3;
                          }),
              ::testing::ExitedWithCode(0), "");
}

TEST_F(SystemdSockets, OfOneNameTwiceAreRefused) {
  EXPECT_EXIT(TakeAndExit({first_.get(), second_.get()}, "requests:requests", NotReached),
              ::testing::ExitedWithCode(2), "two sockets named requests");
}

TEST_F(SystemdSockets, ThatDoNotListenAreRefused) {
  const Descriptor other(socket(AF_INET, SOCK_DGRAM, 0));
  EXPECT_EXIT(TakeAndExit({other.get()}, "requests", NotReached), ::testing::ExitedWithCode(2),
              "requests is not a TCP socket that listens");
}

TEST_F(SystemdSockets, OfAnotherProcessAreLeftAlone) {
  setenv("LISTEN_PID", "1", 1);
  setenv("LISTEN_FDS", "1", 1);
  EXPECT_TRUE(TakeSystemdSockets().empty());
  EXPECT_EQ(std::getenv("LISTEN_FDS"), nullptr);
}

}  // namespace systemd_sockets_test
}  // namespace scorecast::launcher
