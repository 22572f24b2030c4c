#include "coordinator/endpoints/tokenize/tokenize_endpoint.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "coordinator/endpoints/tokenize/detokenize_request.h"
#include "coordinator/endpoints/tokenize/tokenize_fields.h"
#include "coordinator/endpoints/tokenize/tokenize_request.h"
#include "proto/http_responses.pb.h"

namespace scorecast::coordinator {
namespace {

class Tokenize : public Endpoint {
 public:
  std::string_view name() const override { return "tokenize"; }
  std::span<const std::string_view> urls() const override {
    static constexpr std::array<std::string_view, 1> kUrls = {"/tokenize"};
    return kUrls;
  }
  std::span<const FieldTable* const> forms() const override {
    static constexpr std::array kForms = {&kTokenizePromptFields, &kTokenizeInputsFields};
    return kForms;
  }

  ParsedRequest FromJson(const nlohmann::json& body) const override {
    return AsParsed(TokenizeRequestFromJson(body));
  }
  std::vector<const ResponseForm*> response_forms() const override {
    return {&FormOf(*v1::TokenizeResponse::descriptor()),
            &FormOf(*v1::TeiTokenizeResponse::descriptor())};
  }
};

class Detokenize : public Endpoint {
 public:
  std::string_view name() const override { return "detokenize"; }
  std::span<const std::string_view> urls() const override {
    static constexpr std::array<std::string_view, 2> kUrls = {"/detokenize", "/decode"};
    return kUrls;
  }
  std::span<const FieldTable* const> forms() const override {
    static constexpr std::array kForms = {&kDetokenizeTokensFields, &kDetokenizeIdsFields};
    return kForms;
  }

  ParsedRequest FromJson(const nlohmann::json& body) const override {
    return AsParsed(DetokenizeRequestFromJson(body));
  }
  std::vector<const ResponseForm*> response_forms() const override {
    return {&FormOf(*v1::DetokenizeResponse::descriptor()),
            &FormOf(*v1::TeiDetokenizeResponse::descriptor())};
  }
};

}  // namespace

const Endpoint& TokenizeEndpoint() {
  static const Tokenize endpoint;
  return endpoint;
}

const Endpoint& DetokenizeEndpoint() {
  static const Detokenize endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
