#include "coordinator/endpoints/tokenize/detokenize_request.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/tokenize/complete_readout.h"
#include "coordinator/endpoints/tokenize/tokenize_fields.h"
#include "coordinator/json/body_reader.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "proto/http_responses.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

std::optional<Error> RequestFault(const DetokenizeRequest& request, const RequestContext& context) {
  if (auto fault = OptionsFault(request)) {
    return fault;
  }
  const std::string field = request.is_ids ? "ids" : "tokens";
  if (context.tokenizer == nullptr) {
    return BadRequest("no_tokenizer", "This model has no tokenizer.", field);
  }
  const auto num_lists = static_cast<std::int64_t>(request.lists.size());
  if (num_lists > context.options.max_items) {
    return BadRequest(
        "too_many_items",
        "Too many lists of ids: " + Exceeds(num_lists, context.options.max_items) + ".", field);
  }
  for (std::size_t i = 0; i < request.lists.size(); ++i) {
    if (auto fault = VocabularyFault(request.lists[i], num_lists == 1 ? field : At(field, i),
                                     context.config.vocab_size)) {
      return fault;
    }
  }
  return std::nullopt;
}

std::unique_ptr<EndpointResponse> ToResponse(std::string text) {
  auto response = std::make_unique<v1::DetokenizeResponse>();
  response->set_prompt(std::move(text));
  return std::make_unique<EndpointResponse>(std::move(response));
}

std::unique_ptr<EndpointResponse> ToTeiResponse(std::vector<std::string> texts) {
  auto response = std::make_unique<v1::TeiDetokenizeResponse>();
  for (std::string& text : texts) {
    response->add_texts(std::move(text));
  }
  return std::make_unique<EndpointResponse>(std::move(response));
}

}  // namespace

Expected<PreparedRequest> DetokenizeRequest::Prepare(const RequestContext& context,
                                                     const OnDelta& /*on_delta*/) const {
  if (auto fault = RequestFault(*this, context)) {
    return Unexpected(*std::move(fault));
  }
  std::vector<std::string> texts;
  std::size_t num_tokens = 0;
  for (std::vector<TokenId> ids : lists) {
    num_tokens += ids.size();
    if (skip_special_tokens) {
      std::erase_if(ids, [&](TokenId id) { return context.tokenizer->IsSpecial(id); });
    }
    texts.push_back(context.tokenizer->Decode(ids));
  }
  return Complete(is_ids ? ToTeiResponse(std::move(texts)) : ToResponse(std::move(texts.front())),
                  num_tokens);
}

std::int64_t DetokenizeRequest::ResponseBytesBound(const proto::ModelConfig& /*config*/) const {
  std::int64_t bytes = kOtherBytes;
  for (const std::vector<TokenId>& ids : lists) {
    bytes += kListBytes + static_cast<std::int64_t>(ids.size()) * kTextBytesPerToken;
  }
  return bytes;
}

Expected<DetokenizeRequest> DetokenizeRequestFromJson(const nlohmann::json& body) {
  DetokenizeRequest request;
  request.is_ids = HasField(body, "ids");
  BodyReader reader(body, request.is_ids ? kDetokenizeIdsFields : kDetokenizeTokensFields);
  if (request.is_ids) {
    const LabelTokenIds ids = reader.Labels("ids").value_or(LabelTokenIds());
    if (const auto* one = std::get_if<std::vector<TokenId>>(&ids)) {
      request.lists = {*one};
    } else {
      request.lists = std::get<std::vector<std::vector<TokenId>>>(ids);
    }
    request.skip_special_tokens = reader.Bool("skip_special_tokens", true);
  } else {
    request.lists = {reader.TokenIds("tokens").value_or(std::vector<TokenId>())};
  }
  reader.ReadOptions(request);
  if (reader.error()) {
    return Unexpected(*std::move(reader.error()));
  }
  return request;
}

}  // namespace scorecast::coordinator
