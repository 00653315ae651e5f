// Not a test: the certificates of the tests of this folder.
#include "net/test_certificate.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

namespace kvasir::net {

namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

void extend(X509* certificate, int what, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate sign(EVP_PKEY* key, long serial) {
  Certificate certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"),
                             -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  extend(certificate.get(), NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  extend(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate.get(), key, EVP_sha256());
  return certificate;
}

File create(const std::filesystem::path& path) {
  return {std::fopen(path.c_str(), "wb"), std::fclose};
}

}  // namespace

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TestCertificate::TestCertificate() {
  std::string folder = testing::TempDir() + "/certificateXXXXXX";
  folder_ = ::mkdtemp(folder.data());
  renew();
}

TestCertificate::~TestCertificate() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

TlsFiles TestCertificate::files() const {
  return {folder_ / "cert.pem", folder_ / "key.pem"};
}

std::shared_ptr<const TlsContext> TestCertificate::client() const {
  return TlsContext::client(files().certificate).value();
}

void TestCertificate::renew() {
  static std::atomic<long> last_serial{0};
  serial_ = ++last_serial;
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const Certificate certificate = sign(key.get(), serial_);
  PEM_write_X509(create(folder_ / "cert.new").get(), certificate.get());
  PEM_write_PrivateKey(create(folder_ / "key.new").get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  std::filesystem::permissions(folder_ / "key.new", std::filesystem::perms::owner_read);
  // The files are replaced one after the other, so a reader in between sees a pair that does not match.
  std::filesystem::rename(folder_ / "cert.new", files().certificate);
  std::filesystem::rename(folder_ / "key.new", files().key);
}

void TestCertificate::lock_key() const {
  const Key key(PEM_read_PrivateKey(File(std::fopen(files().key.c_str(), "rb"), std::fclose).get(), nullptr,
                                    nullptr, nullptr),
                EVP_PKEY_free);
  std::filesystem::remove(files().key);
  char passphrase[] = "secret";
  PEM_write_PrivateKey(create(files().key).get(), key.get(), EVP_aes_256_cbc(), nullptr, 0, nullptr,
                       passphrase);
}

}  // namespace kvasir::net
