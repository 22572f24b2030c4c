#include "coordinator/endpoints/tokenize/tokenize_endpoint.h"

#include <array>
#include <span>
#include <string_view>

#include "coordinator/endpoints/tokenize/detokenize_request.h"
#include "coordinator/endpoints/tokenize/tokenize_fields.h"
#include "coordinator/endpoints/tokenize/tokenize_request.h"

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
