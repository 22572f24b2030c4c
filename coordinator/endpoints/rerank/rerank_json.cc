#include "coordinator/endpoints/rerank/rerank_json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/rerank/relevance_fields.h"
#include "coordinator/json/body_reader.h"

namespace scorecast::coordinator {
namespace {

/// Cohere's clients send priorities from 0, the default, to this one. There, too, a lower number is
/// sooner.
constexpr std::int64_t kMaxCoherePriority = 999;

constexpr std::array kQuery = std::to_array<Field>({
    {.name = "query",
     .type = FieldType::kString,
     .description = "What the documents are compared with.",
     .is_required = true},
});

constexpr std::array kTopN = std::to_array<Field>({
    {.name = "top_n",
     .type = FieldType::kInteger,
     .description = "How many of the best documents are returned. 0: all.",
     .default_json = "0",
     .minimum = 0},
});

constexpr std::array kRerankFields = Joined(
    kQuery, kTopN,
    std::to_array<Field>({
        {.name = "documents",
         .type = FieldType::kDocuments,
         .description = "What is ranked. Other fields of a document are ignored.",
         .is_required = true},
        {.name = "return_documents",
         .type = FieldType::kBoolOrString,
         .description = "Returns the texts of the documents. With `--rerank-response sglang`, "
                        "true is the default.",
         .default_json = "false"},
        {.name = "truncate",
         .type = FieldType::kBoolOrString,
         .description = "Whether documents that are too long are cut. False: they are refused.",
         .default_json = "true"},
        {.name = "priority",
         .type = FieldType::kInteger,
         .description = "A lower number is computed sooner. Each step down is a 1.25 times larger "
                        "share of the server's time. Cohere's values up to 999 are accepted; "
                        "those above 10 mean 10.",
         .default_json = "0",
         .minimum = kMinPriority,
         .maximum = kMaxCoherePriority},
    }),
    kRelevanceFields, kOptionFields);

constexpr std::array kTeiFields = Joined(
    kQuery, kTopN,
    std::to_array<Field>({
        {.name = "texts",
         .type = FieldType::kDocuments,
         .description = "The documents, which are ranked.",
         .is_required = true},
        {.name = "return_text",
         .type = FieldType::kBoolOrString,
         .description = "Returns the texts of the documents.",
         .default_json = "false"},
        {.name = "truncate",
         .type = FieldType::kBoolOrString,
         .description = "Whether documents that are too long are cut. False: they are refused.",
         .default_json = "false"},
    }),
    kRelevanceFields, kOptionFields, kPriorityField);

constexpr std::array kRerankRefused =
    Joined(std::to_array<RefusedField>({
               {"rank_fields", R"([[],["text"]])", "Give the documents as strings."},
               {"top_k", "[0]", "Give top_n."},
           }),
           kRelevanceRefused);

constexpr std::array kTeiRefused =
    Joined(std::to_array<RefusedField>({
               {"documents", "[]", "A request with texts has no documents."},
               {"prompt_name", "[]", "Give an instruction."},
           }),
           kRelevanceRefused);

constinit const FieldTable kRerankTable = {
    .name = "RerankRequest",
    .description = "Documents to be ranked by their relevance to a query.",
    .fields = kRerankFields,
    .refused = kRerankRefused,
};

constinit const FieldTable kTeiTable = {
    .name = "TeiRerankRequest",
    .description = "The same as text-embeddings-inference has it.",
    .fields = kTeiFields,
    .refused = kTeiRefused,
};

}  // namespace

std::span<const FieldTable* const> RerankForms() {
  static constexpr std::array kForms = {&kRerankTable, &kTeiTable};
  return kForms;
}

proto::Expected<RerankRequest> RerankRequestFromJson(const nlohmann::json& body) {
  const bool is_tei = HasField(body, "texts");
  BodyReader reader(body, is_tei ? kTeiTable : kRerankTable);
  RerankRequest request;
  request.query = reader.String("query").value_or("");
  request.top_n = reader.Integer("top_n").value_or(request.top_n);
  request.relevance = ReadRelevance(reader, /*truncate_if_absent=*/!is_tei);
  if (is_tei) {
    request.form = RerankForm::kTei;
    request.documents = reader.Documents("texts").value_or(request.documents);
    request.return_documents = reader.Bool("return_text", false);
  } else {
    request.documents = reader.Documents("documents").value_or(request.documents);
    if (HasField(body, "return_documents")) {
      request.return_documents = reader.Bool("return_documents", false);
    }
  }
  reader.ReadOptions(request);
  reader.ReadPriority(request);
  if (!is_tei && request.priority <= kMaxCoherePriority) {
    request.priority = std::min<std::int64_t>(request.priority, kMaxPriority);
  }
  if (reader.error()) {
    return proto::Unexpected(*std::move(reader.error()));
  }
  return request;
}

}  // namespace scorecast::coordinator
