#include "proto/tls/tls_session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "proto/base/check.h"

namespace scorecast::proto {

namespace {

/// The data of a session's BIO.
struct SessionSocket {
  int descriptor = -1;
  int reads_left = 0;  ///< How often the call under way may still read.
};

}  // namespace

struct TlsSession::Impl {
  SessionSocket socket;
  std::unique_ptr<SSL, void (*)(SSL*)> session{nullptr, SSL_free};
  std::vector<std::string> protocols;
  std::string fault;
};

namespace {

constexpr std::size_t kMaxNameBytes = 255;

/// How often one call reads from the socket. A record takes two reads or more: its head and its
/// body. OpenSSL reads on behind records that carry no bytes of the application, such as updates of
/// keys, and a peer could keep a thread busy with those.
constexpr int kReadsOfCall = 16;

SessionSocket& SocketOf(BIO* bio) { return *static_cast<SessionSocket*>(BIO_get_data(bio)); }

/// For the result of send or recv: whether the call is to be made again when the socket is ready.
bool IsToBeTriedAgain(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

int ReadFromSocket(BIO* bio, char* into, int bytes) {
  SessionSocket& socket = SocketOf(bio);
  BIO_clear_retry_flags(bio);
  if (socket.reads_left == 0) {
    BIO_set_retry_read(bio);  // A wait for the socket ends at once if more has arrived.
    return -1;
  }
  --socket.reads_left;
  const ssize_t result =
      recv(socket.descriptor, into, static_cast<std::size_t>(bytes), MSG_DONTWAIT);
  if (IsToBeTriedAgain(result)) {
    BIO_set_retry_read(bio);
  } else if (result == 0) {
    BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  }
  return static_cast<int>(result);
}

int WriteToSocket(BIO* bio, const char* from, int bytes) {
  BIO_clear_retry_flags(bio);
  const ssize_t result = send(SocketOf(bio).descriptor, from, static_cast<std::size_t>(bytes),
                              MSG_DONTWAIT | MSG_NOSIGNAL);
  if (IsToBeTriedAgain(result)) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(result);
}

long ControlSocket(BIO* bio, int command, long, void*) {
  switch (command) {
    case BIO_CTRL_FLUSH:
      return 1;
    case BIO_CTRL_EOF:
      return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    default:
      return 0;
  }
}

/// OpenSSL's own method for sockets blocks if the socket does, and raises SIGPIPE.
BIO_METHOD* SocketMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    Check(made != nullptr, "no memory for a BIO_METHOD");
    BIO_meth_set_read(made, ReadFromSocket);
    BIO_meth_set_write(made, WriteToSocket);
    BIO_meth_set_ctrl(made, ControlSocket);
    return made;
  }();
  return method;
}

bool IsAddress(const std::string& name) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

/// The list of ALPN: each name behind its length.
std::string AlpnList(const std::vector<std::string>& protocols) {
  std::string list;
  for (const std::string& protocol : protocols) {
    list += static_cast<char>(protocol.size());
    list += protocol;
  }
  return list;
}

/// Empty if the name is not one to show, such as one with control characters.
std::string NameText(const ASN1_STRING* name) {
  unsigned char* text = nullptr;
  const int length = ASN1_STRING_to_UTF8(&text, name);
  std::string result;
  if (length > 0) {
    result.assign(reinterpret_cast<const char*>(text), static_cast<std::size_t>(length));
  }
  OPENSSL_free(text);
  const bool is_plain = std::ranges::none_of(
      result, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  return is_plain && result.size() <= kMaxNameBytes ? result : "";
}

std::string AlternativeName(const X509* certificate) {
  auto* const names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::string result;
  for (int i = 0; result.empty() && i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_DNS || name->type == GEN_EMAIL || name->type == GEN_URI) {
      result = NameText(name->d.ia5);  // All three have this type.
    }
  }
  GENERAL_NAMES_free(names);
  return result;
}

std::string CommonName(const X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  return index < 0 ? "" : NameText(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index)));
}

}  // namespace

TlsSession::TlsSession(const TlsContext& context, int socket, std::vector<std::string> protocols)
    : impl_(std::make_unique<Impl>()) {
  impl_->protocols = std::move(protocols);
  impl_->session.reset(SSL_new(context.get()));
  BIO* const bio = BIO_new(SocketMethod());
  Check(impl_->session != nullptr && bio != nullptr, "no memory for a TLS session");
  impl_->socket.descriptor = socket;
  BIO_set_data(bio, &impl_->socket);
  BIO_set_init(bio, 1);
  SSL_set_bio(impl_->session.get(), bio, bio);  // Owns it.
  SSL_set_app_data(impl_->session.get(), impl_.get());
}

TlsSession::TlsSession(TlsSession&&) noexcept = default;
TlsSession& TlsSession::operator=(TlsSession&&) noexcept = default;
TlsSession::~TlsSession() = default;

TlsSession TlsSession::OfServer(const TlsContext& context, int socket,
                                std::vector<std::string> protocols) {
  TlsSession result(context, socket, std::move(protocols));
  SSL_set_accept_state(result.impl_->session.get());
  return result;
}

TlsSession TlsSession::OfClient(const TlsContext& context, int socket, const std::string& name,
                                std::vector<std::string> protocols) {
  const std::string list = AlpnList(protocols);
  TlsSession result(context, socket, std::move(protocols));
  SSL* const session = result.impl_->session.get();
  SSL_set_connect_state(session);
  SSL_set_alpn_protos(session, reinterpret_cast<const unsigned char*>(list.data()),
                      static_cast<unsigned>(list.size()));
  const bool is_set =
      IsAddress(name)
          ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name.c_str())
          : SSL_set1_host(session, name.c_str()) && SSL_set_tlsext_host_name(session, name.c_str());
  Check(is_set, "no memory for the name of a TLS server");
  return result;
}

int TlsSession::ChooseProtocol(ssl_st* session, const unsigned char** out,
                               unsigned char* out_length, const unsigned char* in,
                               unsigned int in_length, void*) {
  for (const std::string& own : static_cast<const Impl*>(SSL_get_app_data(session))->protocols) {
    for (unsigned at = 0; at < in_length; at += 1U + in[at]) {
      const std::string_view offered(reinterpret_cast<const char*>(in + at + 1), in[at]);
      if (offered == own) {
        *out = in + at + 1;
        *out_length = in[at];
        return SSL_TLSEXT_ERR_OK;
      }
    }
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

TlsSession::State TlsSession::StateOf(int result) {
  const int error_number = errno;
  SSL* const session = impl_->session.get();
  switch (SSL_get_error(session, result)) {
    case SSL_ERROR_NONE:
      return State::kDone;
    case SSL_ERROR_WANT_READ:
      return State::kNeedsRead;
    case SSL_ERROR_WANT_WRITE:
      return State::kNeedsWrite;
    case SSL_ERROR_ZERO_RETURN:
      return State::kEnded;
    case SSL_ERROR_SYSCALL:
      impl_->fault =
          error_number != 0 ? std::strerror(error_number) : "the peer closed the connection";
      return State::kLost;
    default:
      break;
  }
  const long verified = SSL_get_verify_result(session);
  const std::string reason = TakeTlsFault("OpenSSL gives no reason");
  impl_->fault = verified != X509_V_OK && reason == "certificate verify failed"
                     ? reason + ": " + X509_verify_cert_error_string(verified)
                     : reason;
  return State::kFailed;
}

void TlsSession::BeginCall() {
  ERR_clear_error();
  errno = 0;
  impl_->socket.reads_left = kReadsOfCall;
}

TlsSession::State TlsSession::Handshake() {
  BeginCall();
  return StateOf(SSL_do_handshake(impl_->session.get()));
}

TlsSession::Result TlsSession::Read(std::span<char> into) {
  BeginCall();
  std::size_t bytes = 0;
  const State state = StateOf(SSL_read_ex(impl_->session.get(), into.data(), into.size(), &bytes));
  return {state, bytes};
}

TlsSession::Result TlsSession::Write(std::span<const char> from) {
  BeginCall();
  std::size_t bytes = 0;
  const State state = StateOf(SSL_write_ex(impl_->session.get(), from.data(), from.size(), &bytes));
  return {state, bytes};
}

void TlsSession::ShutDown() {
  BeginCall();
  SSL_shutdown(impl_->session.get());
  ERR_clear_error();
}

bool TlsSession::has_unread() const { return SSL_pending(impl_->session.get()) > 0; }

std::string TlsSession::peer_name() const {
  const X509* const certificate = SSL_get0_peer_certificate(impl_->session.get());
  if (certificate == nullptr) {
    return "";
  }
  const std::string name = AlternativeName(certificate);
  return name.empty() ? CommonName(certificate) : name;
}

const std::string& TlsSession::fault() const { return impl_->fault; }

}  // namespace scorecast::proto
