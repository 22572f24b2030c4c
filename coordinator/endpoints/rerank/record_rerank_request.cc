#include "coordinator/endpoints/rerank/record_rerank_request.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/rerank/ranking.h"
#include "coordinator/endpoints/rerank/relevance_options.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/request/request_error.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

constexpr std::string_view kText = "text";

/// The text of a record, a string or an object's member `field`. `name` is the client's name of
/// the record.
Expected<std::string> TextOf(const std::string& record, const std::string& field,
                             const std::string& name) {
  const auto value = nlohmann::json::parse(record);
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (!value.is_object()) {
    return Unexpected(BadRequest("wrong_type", name + " must be a string or an object.", name));
  }
  const std::string member = name + "." + field;
  const auto text = value.find(field);
  if (text == value.end()) {
    return Unexpected(BadRequest("missing_field", member + " must be provided.", member));
  }
  if (!text->is_string()) {
    return Unexpected(BadRequest("wrong_type", member + " must be a string.", member));
  }
  return text->get<std::string>();
}

/// A string as an object, which is what Pinecone's clients read.
std::string ObjectOf(std::string record) {
  return record.starts_with('"') ? R"({"text":)" + record + "}" : record;
}

/// That of ObjectOf around a string, and quotation marks.
constexpr std::int64_t kRecordBytes = 16;

}  // namespace

Expected<PreparedRequest> PrepareRecordRerank(MessageRequest<v1::RecordRerankRequest> request,
                                              const RequestContext& context,
                                              const OnDelta& /*on_delta*/) {
  v1::RecordRerankRequest& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  if (message.rank_fields_size() > 1) {
    return Unexpected(
        BadRequest("not_supported", "rank_fields may name only one field.", "rank_fields"));
  }
  const std::string field(message.rank_fields().empty() ? kText : message.rank_fields(0));
  Expected<Ranking> made = RankingOf(request);
  if (!made) {
    return Unexpected(std::move(made).error());
  }
  Ranking ranking = *std::move(made);
  if (message.parameters().has_truncate()) {
    ranking.options.truncate_field = "parameters.truncate";
    if (auto fault = SetTruncate(message.parameters().truncate(), ranking.options)) {
      return Unexpected(*std::move(fault));
    }
  }
  ranking.records = TextsOf(*message.mutable_documents());
  for (std::size_t i = 0; i < ranking.records.size(); ++i) {
    Expected<std::string> text = TextOf(ranking.records[i], field, At(ranking.documents_field, i));
    if (!text) {
      return Unexpected(std::move(text).error());
    }
    ranking.documents.push_back(*std::move(text));
    if (!request.form->is_dialect()) {
      ranking.records[i] = ObjectOf(std::move(ranking.records[i]));
    }
  }
  return PrepareRanking(std::move(ranking), context);
}

std::int64_t RecordRerankResponseBytesBound(const MessageRequest<v1::RecordRerankRequest>& request,
                                            const proto::ModelConfig& config) {
  const v1::RecordRerankRequest& message = request.message;
  std::int64_t bytes = kOtherBytes + std::int64_t{message.documents_size()} *
                                         (kListBytes + 3 * kNumberBytes + EmbeddingBytes(config));
  if (message.return_documents()) {
    for (const std::string& record : message.documents()) {
      bytes += static_cast<std::int64_t>(record.size()) + kRecordBytes;
    }
  }
  return bytes;
}

}  // namespace scorecast::coordinator
