#include "coordinator/page/page.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/evp.h>
#include <openssl/sha.h>

#include "coordinator/page/page_files.h"

namespace scorecast::coordinator {
namespace {

/// The SHA-256 of a text in base64.
std::string Digest(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  unsigned char base64[4 * (SHA256_DIGEST_LENGTH / 3 + 1) + 1];
  const int bytes = EVP_EncodeBlock(base64, digest, SHA256_DIGEST_LENGTH);
  return {reinterpret_cast<const char*>(base64), static_cast<std::size_t>(bytes)};
}

/// The source of a Content-Security-Policy that allows one text.
std::string HashSource(std::string_view text) { return "'sha256-" + Digest(text) + "'"; }

/// Puts a text into an element that is empty, and of which there is one. `element`: "style".
void Fill(std::string& html, const std::string& element, std::string_view text) {
  const std::string open = "<" + element + ">";
  html.insert(html.find(open + "</" + element + ">") + open.size(), text);
}

ResourceContent PageContent() {
  const auto files = PageFiles();
  const std::string_view style = files[1].text;
  std::string script;
  for (const PageFile& file : files.subspan(2)) {
    script += file.text;
  }
  std::string html(files[0].text);
  Fill(html, "style", style);
  Fill(html, "script", script);
  // A data: image is the icon of the page. Forms are sent by the script.
  std::string policy = "default-src 'none'; script-src " + HashSource(script) + "; style-src " +
                       HashSource(style) +
                       "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                       "frame-ancestors 'none'";
  std::string digest = Digest(html);
  return {.content_type = "text/html; charset=utf-8",
          .body = std::move(html),
          .fields = {{"Content-Security-Policy", std::move(policy)},
                     {"X-Content-Type-Options", "nosniff"},
                     {"Referrer-Policy", "no-referrer"},
                     // Browsers keep the page, and ask whether it has changed.
                     {"Cache-Control", "no-cache"}},
          .entity_tag = std::move(digest)};
}

}  // namespace

Resource PageResource() {
  return {.path = "/",
          .get = [content = Share(PageContent())] { return content; },
          .description = "A page that shows the service at work.",
          .is_state = true,
          .is_open = true};
}

}  // namespace scorecast::coordinator
