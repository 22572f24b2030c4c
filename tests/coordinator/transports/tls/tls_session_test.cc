// A session whose peer sends many records without a byte of the application.

#include "proto/tls/tls_session.h"

#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/coordinator/transports/tls/certificates.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::proto {
namespace tls_session_test {

using scorecast::testing::Authority;

/// The secret's bytes as TLS 1.2 expands them: RFC 5246, section 5.
std::string Expanded(std::string secret, std::string seed, std::size_t bytes) {
  std::string expanded(bytes, ' ');
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string("digest", digest, 0),
      OSSL_PARAM_construct_octet_string("secret", secret.data(), secret.size()),
      OSSL_PARAM_construct_octet_string("seed", seed.data(), seed.size()),
      OSSL_PARAM_construct_end()};
  EVP_KDF* const kdf = EVP_KDF_fetch(nullptr, "TLS1-PRF", nullptr);
  EVP_KDF_CTX* const context = EVP_KDF_CTX_new(kdf);
  EXPECT_EQ(
      EVP_KDF_derive(context, reinterpret_cast<unsigned char*>(expanded.data()), bytes, parameters),
      1);
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kdf);
  return expanded;
}

/// `number` in so many bytes, the highest first.
std::string BigEndian(std::uint64_t number, int bytes) {
  std::string result;
  for (int i = bytes - 1; i >= 0; --i) {
    result += static_cast<char>(number >> (8 * i));
  }
  return result;
}

/// Seals records of a client of TLS 1.2 with AES-128-GCM, which OpenSSL would not send.
class Sealer {
 public:
  explicit Sealer(SSL* client) {
    const auto bytes_of = [](auto get, const auto* from) {
      std::string bytes(48, ' ');
      bytes.resize(get(from, reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()));
      return bytes;
    };
    const std::string keys = Expanded(bytes_of(SSL_SESSION_get_master_key, SSL_get_session(client)),
                                      "key expansion" + bytes_of(SSL_get_server_random, client) +
                                          bytes_of(SSL_get_client_random, client),
                                      40);
    key_ = keys.substr(0, 16);
    salt_ = keys.substr(32, 4);
  }

  std::string Record(char type, const std::string& content) {
    const std::string number = BigEndian(number_++, 8);
    const std::string head = std::string(1, type) + "\x03\x03";
    const std::string nonce = salt_ + number;
    const std::string bound = number + head + BigEndian(content.size(), 2);
    std::string sealed(content.size() + kTag, ' ');
    EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
    int size = 0;
    EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nullptr, Bytes(key_), Bytes(nonce));
    EVP_EncryptUpdate(context, nullptr, &size, Bytes(bound), static_cast<int>(bound.size()));
    auto* const out = reinterpret_cast<unsigned char*>(sealed.data());
    EVP_EncryptUpdate(context, out, &size, Bytes(content), static_cast<int>(content.size()));
    EVP_EncryptFinal_ex(context, out + content.size(), &size);
    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTag, out + content.size());
    EVP_CIPHER_CTX_free(context);
    return head + BigEndian(number.size() + sealed.size(), 2) + number + sealed;
  }

 private:
  static constexpr int kTag = 16;

  static const unsigned char* Bytes(const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  }

  std::string key_;
  std::string salt_;
  std::uint64_t number_ = 1;  ///< The client's Finished had 0.
};

/// A client in memory, and a session of a server at the other end of a pair of sockets.
class TlsSessionTest : public ::testing::Test {
 protected:
  explicit TlsSessionTest(int version = TLS1_3_VERSION) {
    SSL_set_max_proto_version(client_.get(), version);
    SSL_set_cipher_list(client_.get(), "ECDHE-ECDSA-AES128-GCM-SHA256");  // Of TLS 1.2.
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_), 0);
    SSL_set_bio(client_.get(), received_, sent_);
    SSL_set_connect_state(client_.get());
    session_ = std::make_unique<TlsSession>(
        TlsSession::OfServer(TlsContext::OfServer(ca_.Issue("server")), sockets_[0], {}));
    for (int turn = 0; SSL_do_handshake(client_.get()) != 1 && turn < 100; ++turn) {
      Exchange();
      session_->Handshake();
      Exchange();
    }
    Exchange();
    EXPECT_EQ(session_->Handshake(), TlsSession::State::kDone);
  }
  ~TlsSessionTest() override {
    close(sockets_[0]);
    close(sockets_[1]);
  }

  /// Sends what the client has written, and gives it what the session has.
  void Exchange() {
    char* bytes = nullptr;
    const long count = BIO_get_mem_data(sent_, &bytes);
    EXPECT_EQ(send(sockets_[1], bytes, static_cast<std::size_t>(count), 0), count);
    BIO_reset(sent_);
    char buffer[1 << 14];
    ssize_t size = 0;
    while ((size = recv(sockets_[1], buffer, sizeof(buffer), MSG_DONTWAIT)) > 0) {
      BIO_write(received_, buffer, static_cast<int>(size));
    }
  }

  /// How many calls it takes to read `text`.
  int CallsToRead(const std::string& text) {
    char into[100];
    int calls = 1;
    TlsSession::Result result = session_->Read(into);
    while (result.state == TlsSession::State::kNeedsRead && calls < 10'000) {
      ++calls;
      result = session_->Read(into);
    }
    EXPECT_EQ(result.state, TlsSession::State::kDone) << session_->fault();
    EXPECT_EQ(std::string(into, result.bytes), text);
    return calls;
  }

  reference::TempDirectory directory_;
  Authority ca_{directory_.path(), "own"};
  const TlsContext context_ = TlsContext::OfClient({.ca = ca_.certificate()});
  std::unique_ptr<SSL, void (*)(SSL*)> client_{SSL_new(context_.get()), SSL_free};
  BIO* const received_ = BIO_new(BIO_s_mem());
  BIO* const sent_ = BIO_new(BIO_s_mem());
  int sockets_[2] = {-1, -1};
  std::unique_ptr<TlsSession> session_;
};

class TlsSession12Test : public TlsSessionTest {
 protected:
  TlsSession12Test() : TlsSessionTest(TLS1_2_VERSION) {}
};

constexpr int kMostOfCall = 20;  ///< Records.

TEST_F(TlsSessionTest, UpdatesOfKeysTakeManyCalls) {
  constexpr int kUpdates = 1000;
  for (int i = 0; i < kUpdates; ++i) {
    ASSERT_EQ(SSL_key_update(client_.get(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(client_.get()), 1);
  }
  const std::string text = "text";
  ASSERT_EQ(SSL_write(client_.get(), text.data(), static_cast<int>(text.size())), 4);
  Exchange();
  EXPECT_GT(CallsToRead(text), kUpdates / kMostOfCall);
}

TEST_F(TlsSession12Test, RefusedRenegotiationsTakeManyCalls) {
  constexpr int kRefused = 100;  // The alerts of so many fit into the socket.
  ASSERT_STREQ(SSL_get_version(client_.get()), "TLSv1.2");
  Sealer sealer(client_.get());
  std::string records;
  for (int i = 0; i < kRefused; ++i) {
    records += sealer.Record(SSL3_RT_HANDSHAKE, std::string("\x01\0\0\0", 4));  // A ClientHello.
  }
  records += sealer.Record(SSL3_RT_APPLICATION_DATA, "text");
  ASSERT_EQ(send(sockets_[1], records.data(), records.size(), 0),
            static_cast<ssize_t>(records.size()));
  EXPECT_GT(CallsToRead("text"), kRefused / kMostOfCall);
}

TEST_F(TlsSessionTest, ALongRecordTakesOneCall) {
  const std::string text(16'000, 'x');
  ASSERT_EQ(SSL_write(client_.get(), text.data(), static_cast<int>(text.size())), 16'000);
  Exchange();
  std::string into(text.size(), ' ');
  const TlsSession::Result result = session_->Read(into);
  EXPECT_EQ(result.state, TlsSession::State::kDone);
  EXPECT_EQ(into.substr(0, result.bytes), text);
}

}  // namespace tls_session_test
}  // namespace scorecast::proto
