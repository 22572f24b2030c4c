#include "coordinator/endpoints/rerank/pair_score_json.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/rerank/relevance_fields.h"
#include "coordinator/json/body_reader.h"
#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {
namespace {

constexpr std::array<std::string_view, 3> kQueryNames = {"queries", "text_1", "data_1"};
constexpr std::array<std::string_view, 4> kDocumentNames = {"documents", "items", "text_2",
                                                            "data_2"};

constexpr std::string_view kQueryDescription =
    "One query for all documents, or one for each. Exactly one of `queries`, `text_1` and `data_1` "
    "is given.";
constexpr std::string_view kDocumentDescription =
    "What is scored. Exactly one of `documents`, `items`, `text_2` and `data_2` is given.";

template <std::size_t Size>
constexpr auto TextFields(const std::array<std::string_view, Size>& names,
                          std::string_view description) {
  std::array<Field, Size> fields;
  std::ranges::transform(names, fields.begin(), [&](std::string_view name) {
    return Field{.name = name, .type = FieldType::kStringOrStrings, .description = description};
  });
  return fields;
}

constexpr std::array kFields = Joined(
    TextFields(kQueryNames, kQueryDescription), TextFields(kDocumentNames, kDocumentDescription),
    std::to_array<Field>({
        {.name = "truncate",
         .type = FieldType::kBoolOrString,
         .description = "Whether documents that are too long are cut. False: they are refused.",
         .default_json = "true"},
    }),
    kRelevanceFields, kOptionFields, kPriorityField);

/// Reads the one of the names that is given, and says which.
std::vector<std::string> ReadOneOf(std::span<const std::string_view> names,
                                   const nlohmann::json& body, BodyReader& reader,
                                   std::string& given) {
  std::optional<std::vector<std::string>> texts;
  for (const std::string_view name : names) {
    if (!HasField(body, name)) {
      continue;
    }
    if (texts) {
      reader.Fail(BadRequest("given_twice",
                             given + " and " + std::string(name) + " exclude each other.",
                             std::string(name)));
      return {};
    }
    given = name;
    texts = reader.StringOrStrings(name).value_or(std::vector<std::string>());
  }
  if (!texts) {
    given = names.front();
    reader.Fail(BadRequest("missing_field", given + " must be provided.", given));
    return {};
  }
  return *std::move(texts);
}

}  // namespace

constinit const FieldTable kPairScoreFields = {
    .name = "PairScoreRequest",
    .description =
        "Pairs of a query and a document, scored by the rerank template, as vLLM has it.",
    .fields = kFields,
    .refused = kRelevanceRefused,
};

bool IsPairScore(const nlohmann::json& body) {
  return !HasField(body, "query") && std::ranges::any_of(kQueryNames, [&](std::string_view name) {
    return HasField(body, name);
  });
}

proto::Expected<PairScoreRequest> PairScoreRequestFromJson(const nlohmann::json& body) {
  BodyReader reader(body, kPairScoreFields);
  PairScoreRequest request;
  request.queries = ReadOneOf(kQueryNames, body, reader, request.queries_field);
  request.documents = ReadOneOf(kDocumentNames, body, reader, request.documents_field);
  request.relevance = ReadRelevance(reader, /*truncate_if_absent=*/true);
  reader.ReadOptions(request);
  reader.ReadPriority(request);
  if (reader.error()) {
    return proto::Unexpected(*std::move(reader.error()));
  }
  return request;
}

}  // namespace scorecast::coordinator
