#include "proto/tls/tls_context.h"

#include <cerrno>
#include <cstring>
#include <ctime>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/tls/tls_session.h"

namespace scorecast::proto {
namespace {

/// Of TLS 1.2. Those of 1.3 are all sound.
constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* kGroups = "X25519:P-256:P-384";
constexpr int kSecurityLevel = 2;
/// With a session's ticket, a client that has connected before needs no new signature.
constexpr unsigned char kSessionName[] = "scorecast";

[[noreturn]] void Fail(const std::string& what, const std::string& file,
                       const std::string& reason) {
  throw StartupError(what + " " + OneLinePath(file) + ": " + reason);
}

/// Throws StartupError if the file cannot be read, because OpenSSL's own words for that are
/// unclear.
void CheckReadable(const std::string& what, const std::string& file) {
  if (access(file.c_str(), R_OK) != 0) {
    Fail(what, file, std::strerror(errno));
  }
}

/// Instead of a question for the password of a key, at the terminal: notes that there is one.
int NoPassword(char*, int, int, void* is_asked) {
  *static_cast<bool*>(is_asked) = true;
  return -1;
}

/// The time of a certificate in UTC, e.g. "2026-11-26 09:50:57".
std::string DateText(const ASN1_TIME* time) {
  std::tm utc{};
  char text[32] = "?";
  if (ASN1_TIME_to_tm(time, &utc) == 1) {
    std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc);
  }
  return text;
}

}  // namespace

std::string TakeTlsFault(const std::string& otherwise) {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  if (error == 0) {
    return otherwise;
  }
  const char* const reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : otherwise;
}

TlsContext::TlsContext(bool is_server)
    : context_(SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method()), SSL_CTX_free) {
  SSL_CTX* const context = context_.get();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_cipher_list(context, kCiphers) != 1 ||
      SSL_CTX_set1_groups_list(context, kGroups) != 1) {
    throw StartupError("cannot use TLS: " + TakeTlsFault("OpenSSL gives no reason"));
  }
  SSL_CTX_set_security_level(context, kSecurityLevel);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Connections that are idle keep no buffers.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

void TlsContext::CheckDates(const std::string& certificate) {
  const X509* const own = SSL_CTX_get0_certificate(context_.get());
  const ASN1_TIME* const end = X509_get0_notAfter(own);
  if (X509_cmp_current_time(end) < 0) {
    Fail("the TLS certificate", certificate, "it expired at " + DateText(end) + " UTC");
  }
  is_valid_yet_ = X509_cmp_current_time(X509_get0_notBefore(own)) < 0;
  std::tm utc{};
  ASN1_TIME_to_tm(end, &utc);
  valid_until_ = std::chrono::sys_seconds(std::chrono::seconds(timegm(&utc)));
}

void TlsContext::SetOwn(const std::string& certificate, const std::string& key) {
  SSL_CTX* const context = context_.get();
  CheckReadable("the TLS certificate", certificate);
  CheckReadable("the TLS key", key);
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    Fail("the TLS certificate", certificate, TakeTlsFault("not a certificate in PEM"));
  }
  bool has_password = false;
  SSL_CTX_set_default_passwd_cb(context, NoPassword);
  SSL_CTX_set_default_passwd_cb_userdata(context, &has_password);
  const bool is_read = SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  SSL_CTX_set_default_passwd_cb(context, nullptr);
  if (!is_read) {
    const bool is_other = ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509;
    const std::string reason = TakeTlsFault("not a private key in PEM");
    Fail("the TLS key", key,
         has_password ? "it is encrypted; give one without a password"
         : is_other   ? "it does not belong to the certificate " + OneLinePath(certificate)
                      : reason);
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    ERR_clear_error();
    Fail("the TLS key", key, "it does not belong to the certificate " + OneLinePath(certificate));
  }
  CheckDates(certificate);
}

TlsContext TlsContext::OfServer(const TlsServerFiles& files) {
  ERR_clear_error();
  TlsContext result(/*is_server=*/true);
  SSL_CTX* const context = result.get();
  result.SetOwn(files.certificate, files.key);
  SSL_CTX_set_alpn_select_cb(context, TlsSession::ChooseProtocol, nullptr);
  SSL_CTX_set_session_id_context(context, kSessionName, sizeof(kSessionName));
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  if (!files.client_ca.empty()) {
    CheckReadable("the clients' CA", files.client_ca);
    STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(files.client_ca.c_str());
    if (names == nullptr ||
        SSL_CTX_load_verify_locations(context, files.client_ca.c_str(), nullptr) != 1) {
      sk_X509_NAME_pop_free(names, X509_NAME_free);
      Fail("the clients' CA", files.client_ca, TakeTlsFault("not a certificate in PEM"));
    }
    SSL_CTX_set_client_CA_list(context, names);  // Owns them.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    // A session that is resumed would let a client in whose certificate has expired since.
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
  }
  return result;
}

TlsContext TlsContext::OfClient(const TlsClientFiles& files) {
  ERR_clear_error();
  TlsContext result(/*is_server=*/false);
  SSL_CTX* const context = result.get();
  if (files.ca.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else {
    CheckReadable("the TLS CA", files.ca);
    if (SSL_CTX_load_verify_locations(context, files.ca.c_str(), nullptr) != 1) {
      Fail("the TLS CA", files.ca, TakeTlsFault("not a certificate in PEM"));
    }
  }
  if (!files.certificate.empty()) {
    result.SetOwn(files.certificate, files.key);
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  return result;
}

}  // namespace scorecast::proto
