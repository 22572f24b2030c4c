// Who is let in over the request socket when the server needs keys, and the message that lets the
// server read them again.

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/frame.h"
#include "tests/coordinator/access/keys_file.h"
#include "tests/coordinator/transports/ended_clients.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace socket_keys_test {

using launcher::Client;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::Request Authenticate(const std::string& key) {
  v1::Request request;
  request.set_request_id(99);
  request.mutable_authenticate()->set_api_key(key);
  return request;
}

v1::Request Reload() {
  v1::Request request;
  request.mutable_reload();
  return request;
}

class SocketKeys : public ::testing::Test {
 protected:
  static SocketOptions OptionsWith(std::shared_ptr<ApiKeys> keys) {
    SocketOptions options;
    options.keys = std::move(keys);
    return options;
  }

  std::unique_ptr<Client> ConnectWith(const std::string& key) const {
    return std::make_unique<Client>("127.0.0.1:" + std::to_string(server_.port()),
                                    launcher::ClientOptions{.api_key = key});
  }

  const KeysFile file_{KeysFile::Alice() + KeysFile::Bob()};
  const std::shared_ptr<ApiKeys> keys_ = file_.Read();
  EndedClients ended_;
  FakeSocketServer server_{OptionsWith(keys_), {}, &ended_};
};

TEST_F(SocketKeys, TheKeyIsTheFirstMessage) {
  const auto client = server_.Connect();
  const v1::Response response = client->Call(Authenticate(kAlice));
  EXPECT_EQ(response.request_id(), 99U);
  EXPECT_EQ(response.authenticated().name(), "alice");
  EXPECT_TRUE(client->Call(NumberedRequest(1)).has_score());
  EXPECT_EQ(client->Call(Authenticate(kBob)).authenticated().name(), "bob");
  EXPECT_TRUE(client->Call(NumberedRequest(1)).has_score());
  EXPECT_THAT(ended_.Take(), ElementsAre("alice 200", "bob 200"));
}

TEST_F(SocketKeys, NoKeyAndAWrongOneAreRefused) {
  const auto client = server_.Connect();
  v1::Response response = client->Call(NumberedRequest(5));
  EXPECT_EQ(response.request_id(), 5U);
  EXPECT_EQ(response.error().code(), 401);
  EXPECT_EQ(response.error().reason(), "unauthorized");
  for (const std::string wrong : {"", "wrong", "sk-alice-012345678"}) {
    response = client->Call(Authenticate(wrong));
    EXPECT_EQ(response.error().code(), 401) << wrong;
    EXPECT_EQ(client->Call(NumberedRequest(1)).error().code(), 401);
  }
  EXPECT_THAT(ended_.Take(), Contains("127.0.0.1 401"));
  EXPECT_TRUE(client->Call(Authenticate(kAlice)).has_authenticated()) << "it may try again";
  EXPECT_EQ(client->Call(Authenticate("wrong")).error().code(), 401);
  EXPECT_EQ(client->Call(NumberedRequest(1)).error().code(), 401) << "it is no longer alice";
}

TEST_F(SocketKeys, LongRequestsOfStrangersAreNotHeld) {
  const auto client = server_.Connect();
  v1::Request request = NumberedRequest(1);
  request.mutable_score()->mutable_query()->set_text(std::string(1'000'000, 'x'));
  const std::string frame = proto::ToFrame(request);
  WriteBytes(*client, frame.substr(0, frame.size() / 2));
  EXPECT_EQ(client->Receive().error().code(), 401) << "before the rest has arrived";
  EXPECT_EQ(server_.server().status().held_request_bytes, 0);
  WriteBytes(*client, frame.substr(frame.size() / 2));
  EXPECT_TRUE(client->Call(Authenticate(kAlice)).has_authenticated());
  EXPECT_TRUE(client->Call(NumberedRequest(1)).has_score());
}

TEST_F(SocketKeys, ClientsShowTheirKeyWhenTheyConnect) {
  EXPECT_TRUE(ConnectWith(kAlice)->Call(NumberedRequest(1)).has_score());
  try {
    ConnectWith("wrong");
    ADD_FAILURE() << "must throw";
  } catch (const std::runtime_error& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("401 unauthorized: The API key is not"));
  }
}

TEST_F(SocketKeys, AnEditedFileRevokesAKeyOfAnOpenConnection) {
  const auto alice = ConnectWith(kAlice);
  const auto bob = ConnectWith(kBob);
  EXPECT_TRUE(alice->Call(NumberedRequest(1)).has_score());
  file_.Write(KeysFile::Bob());
  const v1::Response reloaded = bob->Call(Reload());
  EXPECT_EQ(reloaded.reloaded().keys(), 1U);
  EXPECT_EQ(reloaded.reloaded().revoked(), 1U);
  EXPECT_EQ(alice->Call(NumberedRequest(1)).error().code(), 401);
  EXPECT_EQ(alice->Call(Reload()).error().code(), 401);
  EXPECT_TRUE(bob->Call(NumberedRequest(1)).has_score());
}

TEST_F(SocketKeys, AKeyThatIsRenamedHasItsNewNameOnAnOpenConnection) {
  const auto client = ConnectWith(kAlice);
  EXPECT_TRUE(client->Call(NumberedRequest(1)).has_score());
  file_.Write(std::string("carol ") + kAlice + "\n");
  EXPECT_EQ(client->Call(Reload()).reloaded().keys(), 1U);
  EXPECT_TRUE(client->Call(NumberedRequest(1)).has_score());
  EXPECT_THAT(ended_.Take(), ElementsAre("alice 200", "carol 200"));
}

TEST_F(SocketKeys, ABrokenFileKeepsThem) {
  const auto alice = ConnectWith(kAlice);
  file_.Write("alice\n");
  const v1::Error error = alice->Call(Reload()).error();
  EXPECT_EQ(error.code(), 409);
  EXPECT_EQ(error.reason(), "not_reloaded");
  EXPECT_THAT(error.message(),
              HasSubstr("line 1: a name stands alone, without a key; the keys stay"));
  EXPECT_TRUE(alice->Call(NumberedRequest(1)).has_score());
}

TEST_F(SocketKeys, OnlyOfAKeyFileCanAServerReadAgain) {
  FakeSocketServer open;
  const auto client = open.Connect();
  EXPECT_EQ(client->Call(Authenticate("any")).authenticated().name(), "");
  EXPECT_EQ(client->Call(Reload()).error().reason(), "nothing_to_reload");
  EXPECT_TRUE(client->Call(NumberedRequest(1)).has_score());
  EXPECT_EQ(server_.Connect()->Call(Reload()).error().code(), 401) << "without a key";
}

}  // namespace socket_keys_test
}  // namespace scorecast::coordinator
