// Headers of the PROXY protocol. The examples are those of HAProxy's document of it.

#include "coordinator/access/proxy_header.h"

#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace proxy_header_test {

using State = ProxyHeader::State;
using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

const std::string kLine = "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n";
const std::string kSignature = "\r\n\r\n\0\r\nQUIT\n"s;

std::string Client(const std::string& bytes) {
  const ProxyHeader header = ParseProxyHeader(bytes);
  EXPECT_EQ(header.state, State::kWhole);
  return header.client ? header.client->to_string() : "none";
}

TEST(ProxyHeader, OfVersionOneIsALine) {
  const ProxyHeader header = ParseProxyHeader(kLine + "GET / HTTP/1.1\r\n");
  EXPECT_EQ(header.state, State::kWhole);
  EXPECT_EQ(header.bytes, kLine.size());
  EXPECT_EQ(Client(kLine), "192.168.0.1");
  EXPECT_EQ(Client("PROXY TCP6 2001:db8::1 ::1 1 2\r\n"), "2001:db8::1");
  EXPECT_EQ(Client("PROXY UNKNOWN\r\n"), "none");
  EXPECT_EQ(Client("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n"), "none");
}

TEST(ProxyHeader, OfVersionTwoHasAddressesInBytes) {
  const std::string v4 = kSignature + "\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x12\x34\x01\xbb"s;
  const ProxyHeader header = ParseProxyHeader(v4 + "rest");
  EXPECT_EQ(header.state, State::kWhole);
  EXPECT_EQ(header.bytes, v4.size());
  EXPECT_EQ(Client(v4), "192.0.2.1");
  std::string v6 = kSignature + "\x21\x21\0\x24"s + std::string(36, '\0');
  v6[16] = '\x20';
  v6[17] = '\x01';
  v6[31] = '\x05';
  EXPECT_EQ(Client(v6), "2001::5");
  EXPECT_EQ(Client(kSignature + "\x20\0\0\0"s), "none") << "LOCAL: the proxy itself";
  EXPECT_EQ(Client(kSignature + "\x21\x31\0\x02"s + "ab"), "none") << "a UNIX socket";
}

TEST(ProxyHeader, MayArriveInParts) {
  const std::string binary =
      kSignature + "\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x12\x34\x01\xbb"s;
  for (const std::string& whole : {kLine, binary}) {
    for (std::size_t size = 1; size < whole.size(); ++size) {
      EXPECT_EQ(ParseProxyHeader(whole.substr(0, size)).state, State::kPart) << size;
    }
  }
}

TEST(ProxyHeader, IsAbsentIfARequestComesFirst) {
  for (const std::string& bytes : {"POST / HTTP/1.1\r\n"s, "GET / HTTP/1.1"s, "\0\0\0\x05"s,
                                   "\r\nGET /"s, "\x16\x03\x01"s, "PROXYING"s}) {
    EXPECT_EQ(ParseProxyHeader(bytes).state, State::kAbsent) << bytes;
  }
}

TEST(ProxyHeader, IsBadIfItBeginsAsOneAndIsNone) {
  for (const std::string& bytes :
       {"PROXY TCP4 host 192.0.2.1 1 2\r\n"s, "PROXY TCP4 ::1 ::1 1 2\r\n"s, "PROXY TCP4\r\n"s,
        "PROXY UDP4 192.0.2.1 192.0.2.1 1 2\r\n"s, "PROXY " + std::string(102, 'x'),
        kSignature + "\x11\x11\0\x0c"s, kSignature + "\x22\x11\0\x0c"s,
        kSignature + "\x21\x11\xff\xff"s, kSignature + "\x21\x11\0\x04\x01\x02\x03\x04"s}) {
    EXPECT_EQ(ParseProxyHeader(bytes).state, State::kBad) << bytes;
  }
}

}  // namespace proxy_header_test
}  // namespace scorecast::coordinator
