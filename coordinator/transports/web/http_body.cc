#include "coordinator/transports/web/http_body.h"

#include <utility>

#include "proto/base/letter_case.h"

namespace scorecast::coordinator {

void ReadClaim(HttpBody& body, const std::string& content_encoding, std::int64_t max_bytes) {
  body.max_bytes = max_bytes;
  if (!content_encoding.empty()) {
    body.coding = proto::EqualsWithoutCase(content_encoding, "zstd") ? ContentCoding::kZstd
                                                                     : ContentCoding::kZlib;
    body.claimed_bytes = ClaimedBytes(body.text(), *body.coding, max_bytes);
  }
}

void MakeRoom(Connection& connection, HttpBody body, const std::string& content_encoding,
              std::int64_t max_bytes, std::function<void(std::optional<HttpBody>)> next) {
  ReadClaim(body, content_encoding, max_bytes);
  if (!body.coding) {
    next(std::move(body));
    return;
  }
  const std::int64_t claimed = body.claimed_bytes;
  connection.HoldRequest(
      /*before=*/0, claimed, [body = std::move(body), next = std::move(next)](Held room) mutable {
        if (room == nullptr) {
          next(std::nullopt);
          return;
        }
        body.room = std::move(room);
        next(std::move(body));
      });
}

}  // namespace scorecast::coordinator
