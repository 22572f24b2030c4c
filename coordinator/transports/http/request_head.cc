#include "coordinator/transports/http/request_head.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string_type.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>

#include "coordinator/request/request_error.h"
#include "coordinator/transports/http/load_report.h"
#include "coordinator/transports/web/field_value.h"
#include "coordinator/transports/web/request_id.h"
#include "coordinator/transports/web/request_path.h"
#include "proto/base/letter_case.h"

namespace scorecast::coordinator {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

using Fields = http::request<http::empty_body>;

std::string ToString(beast::string_view text) { return {text.data(), text.size()}; }

/// The values of all fields of a name, which mean the same as one field with their list.
std::string ListOf(const Fields& fields, http::field name) {
  std::string list;
  const auto [begin, end] = fields.equal_range(name);
  for (auto at = begin; at != end; ++at) {
    list += (at == begin ? "" : ", ") + ToString(at->value());
  }
  return list;
}

/// The keys that a request shows, in the fields in which clients of other services have theirs.
std::vector<std::string> KeysOf(const Fields& fields) {
  constexpr std::string_view kBearer = "Bearer";
  std::vector<std::string> keys;
  const std::string authorization = ToString(fields[http::field::authorization]);
  const std::string_view rest =
      std::string_view(authorization).substr(std::min(kBearer.size(), authorization.size()));
  if (proto::EqualsWithoutCase(authorization.substr(0, kBearer.size()), kBearer) &&
      (rest.empty() || rest.front() == ' ')) {
    keys.emplace_back(rest.substr(std::min(rest.find_first_not_of(' '), rest.size())));
  }
  for (const char* const name : {"x-api-key", "api-key"}) {
    keys.push_back(ToString(fields[name]));
  }
  std::erase(keys, "");
  return keys;
}

/// Whether a field of the header goes on in a line that begins with a space (obs-fold). The parser
/// joins such lines. A proxy may not, and then finds other fields, or another end of the body.
bool HasFoldedLine(std::string_view bytes) {
  return bytes.find("\r\n ") != std::string_view::npos ||
         bytes.find("\r\n\t") != std::string_view::npos;
}

proto::Error FoldedLine() {
  return BadRequest("bad_http", "A field of the header goes on in a second line.", "");
}

/// Whether a line of the header, which ends with an empty line, ends with LF alone.
bool HasBareLineFeed(std::string_view bytes) {
  const std::string_view header = bytes.substr(0, bytes.find("\r\n\r\n"));
  for (std::size_t at = header.find('\n'); at != std::string_view::npos;
       at = header.find('\n', at + 1)) {
    if (at == 0 || header[at - 1] != '\r') {
      return true;
    }
  }
  return false;
}

proto::Error BareLineFeed() {
  return BadRequest("bad_http", "A line of the header ends with LF alone, not with CR and LF.", "");
}

/// Whether a value names nothing: it is empty, or a list without elements.
bool IsBlank(beast::string_view value) {
  return value.find_first_not_of(", \t") == beast::string_view::npos;
}

proto::Error UrlTooLong() {
  return {414, "url_too_long",
          "The URL is too long: more than " + std::to_string(HeadParser::kMaxUrlBytes) + " bytes.",
          "url"};
}

proto::Error HeaderTooLarge() {
  return {431, "header_too_large",
          "The header of the request is too large: more than " +
              std::to_string(HeadParser::kMaxBytes) + " bytes.",
          ""};
}

proto::Error ParserFault(const boost::system::error_code& error) {
  if (error == http::error::bad_version) {
    return {505, "wrong_http_version",
            "The request must be HTTP/1.1 or HTTP/1.0. A proxy can speak HTTP/2 to the client and "
            "HTTP/1.1 to this server.",
            ""};
  }
  if (error == http::error::header_limit) {
    return HeaderTooLarge();
  }
  return BadRequest("bad_http", "The header of the request is not HTTP: " + error.message() + ".",
                    "");
}

}  // namespace

struct HeadParser::Parser {
  http::request_parser<http::empty_body> header;
};

HeadParser::HeadParser() : parser_(std::make_unique<Parser>()) {
  parser_->header.header_limit(kMaxBytes);
  // The body is not this parser's matter. Without a limit, it would take every body for too large.
  parser_->header.skip(true);
  parser_->header.body_limit(std::numeric_limits<std::uint64_t>::max());
  head_.request_id = RequestId({});
}

HeadParser::~HeadParser() = default;

std::size_t HeadParser::Take(std::string_view bytes) {
  boost::system::error_code error;
  const std::size_t consumed =
      parser_->header.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  taken_ += consumed;
  // The parser takes a field only if it has seen the beginning of the next line.
  is_folded_ = is_folded_ || HasFoldedLine(bytes.substr(0, consumed));
  // The parser may wait for the end of the header before it reads the first line.
  const bool has_url =
      !parser_->header.get().target().empty() || bytes.find('\n') != std::string_view::npos;
  const std::size_t pending = bytes.size() - consumed;
  if (parser_->header.get().target().size() > kMaxUrlBytes ||
      (!has_url && error == http::error::need_more && pending > kMaxUrlBytes)) {
    fault_ = UrlTooLong();
  } else if (error == http::error::need_more) {
    if (taken_ + pending >= kMaxBytes) {
      fault_ = HeaderTooLarge();
    }
  } else if (error == http::error::header_limit && HasFoldedLine(bytes)) {
    fault_ = FoldedLine();  // The parser has a limit of its own for what it joins.
  } else if (error) {
    fault_ = HasBareLineFeed(bytes) ? BareLineFeed() : ParserFault(error);
  } else if (taken_ > kMaxBytes) {
    fault_ = HeaderTooLarge();
  } else {
    Interpret();
    is_done_ = !fault_;
  }
  return consumed;
}

void HeadParser::Interpret() {
  const auto& parser = parser_->header;
  const Fields& fields = parser.get();
  const auto value = [&](http::field field) { return ToString(fields[field]); };
  head_.is_http_1_0 = fields.version() == 10;
  head_.keep_alive = parser.keep_alive();
  head_.method = ToString(fields.method_string());
  head_.request_id = RequestId(ToString(fields["X-Request-Id"]));
  head_.content_type = ListOf(fields, http::field::content_type);
  head_.content_encoding = EncodingOf(ListOf(fields, http::field::content_encoding));
  head_.accept_encoding = ListOf(fields, http::field::accept_encoding);
  head_.if_none_match = ListOf(fields, http::field::if_none_match);
  head_.host = AuthorityOf(ToString(fields.target()));
  if (head_.host.empty()) {
    head_.host = value(http::field::host);
  }
  head_.api_keys = KeysOf(fields);
  const auto [forwarded, forwarded_end] = fields.equal_range("X-Forwarded-For");
  for (auto at = forwarded; at != forwarded_end; ++at) {
    head_.forwarded_for += (at == forwarded ? "" : ", ") + ToString(at->value());
  }
  head_.origin = ListOf(fields, http::field::origin);
  if (fields.count("X-Pinecone-Api-Version") > 0) {
    head_.path_prefix = "/pinecone";
  }
  head_.fetch_site = ToString(fields["Sec-Fetch-Site"]);
  head_.preflight_method = value(http::field::access_control_request_method);
  head_.preflight_fields = value(http::field::access_control_request_headers);
  head_.load_format =
      ToString(fields[beast::string_view(kLoadFormatField.data(), kLoadFormatField.size())]);
  const auto bad_field = [&](const std::string& field, const std::string& message) {
    fault_ = BadRequest("bad_http", message, field);
  };
  if (is_folded_) {
    fault_ = FoldedLine();
    return;
  }
  if (const auto hosts = fields.count(http::field::host);
      hosts > 1 || (hosts == 0 && !head_.is_http_1_0)) {
    return bad_field("Host", "A request must have one field Host.");
  }
  const auto [encodings, encodings_end] = fields.equal_range(http::field::transfer_encoding);
  if (std::any_of(encodings, encodings_end,
                  [](const auto& encoding) { return IsBlank(encoding.value()); })) {
    // A proxy may take it for chunked, or for no encoding at all.
    return bad_field("Transfer-Encoding", "The field Transfer-Encoding names no encoding.");
  }
  const std::string encoding = value(http::field::transfer_encoding);
  if (fields.count(http::field::transfer_encoding) > 1 ||
      (!encoding.empty() && !proto::EqualsWithoutCase(encoding, "chunked"))) {
    fault_ = proto::Error{501, "wrong_transfer_encoding",
                          "The only Transfer-Encoding that this server has is chunked.",
                          "Transfer-Encoding"};
    return;
  }
  if (!encoding.empty() && head_.is_http_1_0) {
    return bad_field("Transfer-Encoding", "HTTP/1.0 has no Transfer-Encoding.");
  }
  const std::string expectation = value(http::field::expect);
  if (!expectation.empty() && !proto::EqualsWithoutCase(expectation, "100-continue")) {
    fault_ = proto::Error{417, "wrong_expectation",
                          "The only Expect that this server has is 100-continue.", "Expect"};
    return;
  }
  head_.expects_continue = !expectation.empty() && !head_.is_http_1_0;
  head_.framing = parser.chunked() ? BodyFraming::InChunks()
                                   : BodyFraming::OfLength(parser.content_length().value_or(0));
  auto path = PathOf(ToString(fields.target()));
  if (!path) {
    fault_ = std::move(path).error();
    return;
  }
  head_.path = *std::move(path);
}

}  // namespace scorecast::coordinator
