#include "coordinator/endpoints/rerank/rerank_endpoint.h"

#include "coordinator/endpoints/message_endpoint.h"
#include "coordinator/endpoints/rerank/pair_score_request.h"
#include "coordinator/endpoints/rerank/record_rerank_request.h"
#include "coordinator/endpoints/rerank/rerank_request.h"
#include "coordinator/json/response_writer.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

/// A form of the response, as its description says.
const ResponseForm* ResponseIn(const google::protobuf::Descriptor* description) {
  return &FormOf(*v1::RerankResponse::descriptor(), *description);
}

RequestForm RerankFormOf(std::string_view name) {
  return RequestFormOf<v1::RerankRequest>({PrepareRerank, RerankResponseBytesBound}, name);
}

RequestForm RecordFormOf(std::string_view name) {
  return RequestFormOf<v1::RecordRerankRequest>(
      {PrepareRecordRerank, RecordRerankResponseBytesBound}, name);
}

RequestForm PairFormOf(std::string_view dialect) {
  return RequestFormOf<v1::PairScoreRequest>({PreparePairScore, PairScoreResponseBytesBound},
                                             dialect);
}

const ResponseForm* PairResponseIn(const google::protobuf::Descriptor* description) {
  return &FormOf(*v1::PairScoreResponse::descriptor(), *description);
}

class RankingEndpoint : public MessageEndpoint {
 public:
  using MessageEndpoint::MessageEndpoint;

  const ResponseForm& error_form() const override { return UrlErrorForm(); }
};

}  // namespace

const Endpoint& RerankEndpoint() {
  static const RankingEndpoint endpoint(
      "rerank",
      {"/v1/rerank", "/rerank", "/v2/rerank", "/v1/reranking", "/reranking", "/v1/ranking",
       "/v1/retrieval/{model}/reranking", "/inference/v1/rerank"},
      {ResponseIn(v1::CohereRerankResponse::descriptor()),
       ResponseIn(v1::TeiRerankResponse::descriptor()),
       ResponseIn(v1::SglangRerankResponse::descriptor()),
       ResponseIn(v1::NvidiaRankingResponse::descriptor()),
       ResponseIn(v1::VoyageRerankResponse::descriptor()),
       ResponseIn(v1::MixedbreadRerankResponse::descriptor())},
      RerankFormOf("RerankRequest"), RerankFormOf("TeiRerankRequest"),
      RerankFormOf("NvidiaRankingRequest"), RecordFormOf("MixedbreadRerankRequest"),
      RerankFormOf("VoyageRerankRequest"));
  return endpoint;
}

const Endpoint& DeepInfraRerankEndpoint() {
  static const RankingEndpoint endpoint("deepinfra_rerank",
                                        {"/inference/{model}", "/v1/inference/{model}"},
                                        {PairResponseIn(v1::DeepInfraRerankResponse::descriptor())},
                                        PairFormOf("DeepInfraRerankRequest"));
  return endpoint;
}

const Endpoint& InfinityRerankEndpoint() {
  static const RankingEndpoint endpoint("infinity_rerank", {"/infinity/rerank"},
                                        {ResponseIn(v1::InfinityRerankResponse::descriptor())},
                                        RerankFormOf("InfinityRerankRequest"));
  return endpoint;
}

const Endpoint& IsaacusRerankingEndpoint() {
  static const RankingEndpoint endpoint("isaacus_reranking", {"/v1/rerankings"},
                                        {ResponseIn(v1::IsaacusRerankingResponse::descriptor())},
                                        RerankFormOf("IsaacusRerankingRequest"));
  return endpoint;
}

const Endpoint& PineconeRerankEndpoint() {
  static const RankingEndpoint endpoint("pinecone_rerank", {"/pinecone/rerank"},
                                        {ResponseIn(v1::PineconeRerankResponse::descriptor())},
                                        RecordFormOf("RecordRerankRequest"));
  return endpoint;
}

const Endpoint& VoyageRerankEndpoint() {
  static const RankingEndpoint endpoint("voyage_rerank", {"/voyage/v1/rerank"},
                                        {ResponseIn(v1::VoyageRerankResponse::descriptor())},
                                        RerankFormOf("VoyageRerankRequest"));
  return endpoint;
}

const Endpoint& WeaviateRerankEndpoint() {
  static const RankingEndpoint endpoint("weaviate_rerank", {"/weaviate/rerank"},
                                        {PairResponseIn(v1::WeaviateRerankResponse::descriptor())},
                                        PairFormOf("WeaviateRerankRequest"));
  return endpoint;
}

}  // namespace scorecast::coordinator
