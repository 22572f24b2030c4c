#pragma once

#include <filesystem>
#include <string>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "proto/tls/tls_context.h"

namespace scorecast::testing {

/// What a certificate says.
struct CertificateFields {
  std::string name = "localhost";                           ///< CN.
  std::string alternatives = "DNS:localhost,IP:127.0.0.1";  ///< SAN; may be empty.
  int days = 30;                                            ///< From now; negative: it has expired.
  int seconds = 0;                                          ///< Beyond the days.
};

/// A CA whose certificates and keys are files of a directory.
class Authority {
 public:
  /// `name` is the beginning of its files' names.
  Authority(std::filesystem::path directory, std::string name);
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  std::string certificate() const { return PathOf("ca"); }

  /// Writes a certificate, signed by this CA, and its key: files that begin with `file`.
  proto::TlsServerFiles Issue(const std::string& file, const CertificateFields& fields = {});
  /// The same for a client of servers whose CA this is.
  proto::TlsClientFiles IssueClient(const std::string& file, const CertificateFields& fields);

 private:
  std::string PathOf(const std::string& file) const;

  const std::filesystem::path directory_;
  const std::string name_;
  EVP_PKEY* key_ = nullptr;
  X509* certificate_ = nullptr;
  long serial_ = 1;
};

}  // namespace scorecast::testing
