#include "coordinator/transports/connection/tls_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/access/file_watch.h"
#include "proto/base/error.h"
#include "tests/coordinator/transports/http/http_client.h"
#include "tests/coordinator/transports/tls/tls_client.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace tls_files_test {

using proto::TlsServerFiles;
using scorecast::testing::Authority;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string FaultOf(const TlsServerFiles& files) {
  try {
    TlsFiles read(files);
  } catch (const proto::StartupError& fault) {
    return fault.what();
  }
  return "none";
}

class TlsFilesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = (directory_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }

  reference::TempDirectory directory_;
  Authority ca_{directory_.path(), "own"};
};

TEST_F(TlsFilesTest, FaultsNameTheFile) {
  const TlsServerFiles good = ca_.Issue("good");
  const TlsServerFiles other = ca_.Issue("other");
  EXPECT_EQ(FaultOf(good), "none");
  EXPECT_THAT(FaultOf({"/nowhere", good.key, ""}),
              AllOf(HasSubstr("/nowhere"), HasSubstr("No such file")));
  EXPECT_THAT(FaultOf({good.certificate, "/nowhere", ""}), HasSubstr("the TLS key /nowhere"));
  EXPECT_THAT(FaultOf({good.certificate, good.key, "/nowhere"}), HasSubstr("the clients' CA"));
  EXPECT_THAT(FaultOf({good.certificate, other.key, ""}),
              AllOf(HasSubstr("other-key.pem"), HasSubstr("does not belong to the certificate"),
                    HasSubstr("good.pem")));
  EXPECT_THAT(FaultOf(ca_.Issue("old", {.days = -1})),
              AllOf(HasSubstr("old.pem"), HasSubstr("expired at 20"), HasSubstr("UTC")));
  const std::string text = Write("text", "no certificate\n");
  EXPECT_THAT(FaultOf({text, good.key, ""}), HasSubstr("/text: no start line"));
  EXPECT_THAT(FaultOf({good.certificate, text, ""}), HasSubstr("the TLS key"));
  EXPECT_THAT(FaultOf({good.certificate, good.key, text}), HasSubstr("the clients' CA"));
  EXPECT_THAT(FaultOf({directory_.path(), good.key, ""}), Not(HasSubstr("none")));
}

TEST_F(TlsFilesTest, ACertificateMayBeValidForCenturies) {
  const auto context = proto::TlsContext::OfServer(ca_.Issue("long", {.days = 150'000}));
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  EXPECT_GT(context.valid_until() - now, std::chrono::hours(149'000L * 24));
}

TEST_F(TlsFilesTest, AnEncryptedKeyAsksNobody) {
  TlsServerFiles files = ca_.Issue("server");
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  files.key = (directory_.path() / "encrypted").string();
  std::FILE* const file = std::fopen(files.key.c_str(), "w");
  const unsigned char password[] = "password";
  PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), password, 8, nullptr, nullptr);
  std::fclose(file);
  EVP_PKEY_free(key);
  EXPECT_THAT(FaultOf(files), HasSubstr("it is encrypted"));
}

TEST_F(TlsFilesTest, NewConnectionsGetTheFilesThatAreThereNow) {
  FakeSocketServer server;
  const auto files = std::make_shared<TlsFiles>(ca_.Issue("server", {.name = "first"}));
  const FileWatch watch({[files] { files->Reload(); }}, std::chrono::milliseconds(5));
  const TlsPorts ports(server, files);
  const auto name = [&] { return TlsClient(ports.http, {.ca = ca_.certificate()}).ServerName(); };
  TlsClient early(ports.http, {.ca = ca_.certificate()});
  EXPECT_EQ(early.ServerName(), "first");
  const TlsServerFiles issued = ca_.Issue("server", {.name = "second"});
  EXPECT_TRUE(Eventually([&] { return name() == "second"; }));
  EXPECT_EQ(early.Call(Get("/")).first, 404) << "connections go on";

  const std::string broken = Write("broken", "-----BEGIN CERTIFICATE-----\n");
  std::filesystem::rename(broken, issued.certificate);
  const auto before = files->current().get();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(files->current().get(), before);
  EXPECT_EQ(name(), "second");
  ca_.Issue("server", {.name = "third"});
  EXPECT_TRUE(Eventually([&] { return name() == "third"; }));
}

}  // namespace tls_files_test
}  // namespace scorecast::coordinator
