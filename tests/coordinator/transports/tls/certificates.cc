#include "tests/coordinator/transports/tls/certificates.h"

#include <cstdio>
#include <stdexcept>
#include <utility>

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace scorecast::testing {
namespace {

constexpr long kSecondsPerDay = 86'400;

template <typename Pointer>
Pointer Good(Pointer pointer) {
  if (pointer == nullptr) {
    throw std::runtime_error("OpenSSL makes no certificate");
  }
  return pointer;
}

/// The key of P-256 is the fastest to make.
EVP_PKEY* NewKey() { return Good(EVP_EC_gen("P-256")); }

void AddExtension(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension =
      Good(X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

/// `issuer` may be null: the certificate is its own issuer's.
X509* NewCertificate(const CertificateFields& fields, long serial, EVP_PKEY* key, X509* issuer,
                     EVP_PKEY* issuer_key) {
  X509* const certificate = Good(X509_new());
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  const long end = fields.days * kSecondsPerDay + fields.seconds;
  X509_gmtime_adj(X509_getm_notBefore(certificate), (end < 0 ? end : 0) - kSecondsPerDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), end);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(fields.name.c_str()), -1, -1,
                             0);
  X509* const signer = issuer == nullptr ? certificate : issuer;
  X509_set_issuer_name(certificate, X509_get_subject_name(signer));
  if (issuer == nullptr) {
    AddExtension(certificate, signer, NID_basic_constraints, "critical,CA:TRUE");
    AddExtension(certificate, signer, NID_key_usage, "critical,keyCertSign,cRLSign");
  } else if (!fields.alternatives.empty()) {
    AddExtension(certificate, signer, NID_subject_alt_name, fields.alternatives);
  }
  X509_sign(certificate, issuer_key, EVP_sha256());
  return certificate;
}

template <typename Write>
void WritePem(const std::string& path, Write write) {
  // To another file first, so that a reader never sees half of one.
  const std::string temporary = path + ".new";
  std::FILE* const file = Good(std::fopen(temporary.c_str(), "w"));
  const bool is_written = write(file) == 1;
  if (std::fclose(file) != 0 || !is_written) {
    throw std::runtime_error("cannot write " + path);
  }
  std::filesystem::rename(temporary, path);
}

void WriteCertificate(const std::string& path, X509* certificate) {
  WritePem(path, [&](std::FILE* file) { return PEM_write_X509(file, certificate); });
}

}  // namespace

Authority::Authority(std::filesystem::path directory, std::string name)
    : directory_(std::move(directory)), name_(std::move(name)), key_(NewKey()) {
  certificate_ = NewCertificate({.name = name_ + " CA"}, serial_, key_, nullptr, key_);
  WriteCertificate(certificate(), certificate_);
}

Authority::~Authority() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

std::string Authority::PathOf(const std::string& file) const {
  return (directory_ / (name_ + "-" + file + ".pem")).string();
}

proto::TlsServerFiles Authority::Issue(const std::string& file, const CertificateFields& fields) {
  EVP_PKEY* const key = NewKey();
  X509* const issued = NewCertificate(fields, ++serial_, key, certificate_, key_);
  const proto::TlsServerFiles files{PathOf(file), PathOf(file + "-key"), ""};
  WritePem(files.key, [&](std::FILE* to) {
    return PEM_write_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
  WriteCertificate(files.certificate, issued);
  X509_free(issued);
  EVP_PKEY_free(key);
  return files;
}

proto::TlsClientFiles Authority::IssueClient(const std::string& file,
                                             const CertificateFields& fields) {
  const proto::TlsServerFiles files = Issue(file, fields);
  return {certificate(), files.certificate, files.key};
}

}  // namespace scorecast::testing
