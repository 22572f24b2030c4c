#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/transports/http/body_framing.h"
#include "coordinator/transports/web/web_request.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// What the header of a request says.
struct RequestHead : WebRequest {  // Its path is empty if there is a fault.
  bool is_http_1_0 = false;
  bool keep_alive = false;
  bool expects_continue = false;
  BodyFraming framing = BodyFraming::OfLength(0);
  std::string request_id;  ///< See RequestId.
  // Values of the fields; empty if they are absent.
  std::string host;                   ///< Of the target, if that has one.
  std::vector<std::string> api_keys;  ///< Those of Authorization: Bearer, x-api-key and api-key.
  std::string forwarded_for;          ///< X-Forwarded-For.
  std::string origin;
  std::string fetch_site;  ///< Sec-Fetch-Site.
  std::string preflight_method;
  std::string preflight_fields;
  std::string load_format;  ///< Of kLoadFormatField.
};

/// Reads the header of one request from bytes as they arrive.
class HeadParser {
 public:
  HeadParser();
  ~HeadParser();

  /// Takes bytes from the front of `bytes`, and returns their number. The others must be given
  /// again, with those that follow them.
  std::size_t Take(std::string_view bytes);

  bool is_done() const { return is_done_; }
  /// Why the header cannot be understood. Nothing that follows it can be, either.
  const std::optional<proto::Error>& fault() const { return fault_; }
  /// What is known of the header: all of it, once it is done.
  const RequestHead& head() const { return head_; }
  RequestHead& head() { return head_; }

  /// Upper bound on the bytes of a header.
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 10;
  /// Upper bound on those of its first line.
  static constexpr std::size_t kMaxUrlBytes = std::size_t{8} << 10;

 private:
  struct Parser;

  /// Finds the faults that the parser does not look for, and sets the head.
  void Interpret();

  std::unique_ptr<Parser> parser_;
  std::size_t taken_ = 0;
  bool is_folded_ = false;  ///< A field goes on in a second line.
  bool is_done_ = false;
  std::optional<proto::Error> fault_;
  RequestHead head_;
};

}  // namespace scorecast::coordinator
