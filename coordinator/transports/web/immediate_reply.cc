#include "coordinator/transports/web/immediate_reply.h"

#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "coordinator/request/request_error.h"
#include "coordinator/request/request_log.h"
#include "coordinator/transports/web/field_value.h"
#include "coordinator/transports/web/reply_coding.h"

namespace scorecast::coordinator {
namespace {

/// Bodies of resources of up to this size are copied behind the header, because writing them by
/// themselves takes longer.
constexpr std::size_t kCopiedBytes = std::size_t{4} << 10;

/// The ETag of a content that is sent in a coding; empty if it has none. What is compressed has
/// another one, because its bytes are others.
std::string EntityTagOf(const ResourceContent& content, std::optional<ContentCoding> coding) {
  return content.entity_tag.empty()
             ? std::string()
             : '"' + content.entity_tag + (coding ? "-" + std::string(NameOf(*coding)) : "") + '"';
}

/// The reply to a GET or a HEAD. Throws what the resource throws.
ImmediateReply ResourceReply(const WebServer& server, const WebRequest& request, const Route& route,
                             ReplyWriter& writer) {
  const SharedContent content = route.Content();
  const std::string& body = content->body;
  if (body.size() <= kCopiedBytes && content->entity_tag.empty()) {
    return {writer.Whole(content->status, content->content_type, body, content->fields)};
  }
  const std::optional<ContentCoding> coding = writer.CodingOfBody(body.size());
  ReplyFields fields = content->fields;
  if (const std::string tag = EntityTagOf(*content, coding); !tag.empty()) {
    fields.push_back({"ETag", tag});
    if (NamesEntityTag(request.if_none_match, tag)) {
      return {writer.NotModified(body.size(), std::move(fields))};
    }
  }
  std::shared_ptr<const std::string> sent =
      coding ? server.compressed.Get(route.resource->path, content, *coding)
             : std::shared_ptr<const std::string>(content, &body);
  std::string header = writer.BeforeBody(content->status, content->content_type, body.size(),
                                         sent->size(), coding, std::move(fields));
  return {std::move(header), writer.is_head() ? nullptr : std::move(sent)};
}

}  // namespace

std::string AllowedMethods(const WebRequest& request, const Route& route) {
  return request.path == "*" || !route.exists() ? "GET, HEAD, POST, OPTIONS" : route.Allow();
}

ImmediateReply ReplyAtOnce(const WebServer& server, const WebRequest& request,
                           const Judgement& judgement, const Requester& requester,
                           ReplyWriter& writer, ReplyFields options_fields) {
  if (judgement.fault) {
    return RefusalReply(judgement, requester, writer, *judgement.fault);
  }
  if (request.method == "OPTIONS") {
    options_fields.insert(options_fields.begin(),
                          {"Allow", AllowedMethods(request, judgement.route)});
    return {writer.WithoutBody(204, std::move(options_fields))};
  }
  try {
    return ResourceReply(server, request, judgement.route, writer);
  } catch (const std::exception& exception) {
    return RefusalReply(judgement, requester, writer, FaultOf(exception));
  }
}

ImmediateReply RefusalReply(const Judgement& judgement, const Requester& requester,
                            ReplyWriter& writer, const proto::Error& error) {
  const Holder& holder = requester.holder;
  if (requester.is_of_front) {
    requester.handler.CountRefusal(judgement.route.endpoint, requester.client.address, error);
  } else {
    requester.handler.CountRefusal(judgement.route.endpoint, requester.client, holder, error);
  }
  LogWebRefusal(writer.request_id(), holder == nullptr ? "" : holder->key.name, error);
  return {writer.Error(error, judgement.fault_fields)};
}

void LogWebRefusal(const std::string& request_id, const std::string& holder,
                   const proto::Error& error) {
  LogRefusal("http", request_id, holder, error);
}

}  // namespace scorecast::coordinator
