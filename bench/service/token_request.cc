#include "bench/service/token_request.h"

#include <vector>

#include <nlohmann/json.hpp>

namespace scorecast::bench {
namespace {

void SetIds(v1::TextOrIds& text_or_ids, const std::vector<proto::TokenId>& ids) {
  text_or_ids.mutable_ids()->mutable_ids()->Assign(ids.begin(), ids.end());
}

nlohmann::json IdsOf(const v1::TokenIds& ids) {
  return std::vector<proto::TokenId>(ids.ids().begin(), ids.ids().end());
}

}  // namespace

v1::Request TokenRequest(const Workload& workload, std::uint64_t number, std::int64_t vocab_size) {
  v1::Request request;
  request.set_request_id(number);
  v1::ScoreRequest& score = *request.mutable_score();
  const std::int64_t first_seed = static_cast<std::int64_t>(number) * (workload.items + 1);
  SetIds(*score.mutable_query(), Tokens(workload.query_tokens, first_seed, vocab_size));
  for (std::int64_t i = 0; i < workload.items; ++i) {
    SetIds(*score.add_items(), Tokens(workload.item_tokens, first_seed + i + 1, vocab_size));
  }
  v1::TokenIds& labels = *score.mutable_label_token_ids()->mutable_for_all();
  labels.add_ids(5);
  labels.add_ids(7);
  return request;
}

std::string JsonBody(const v1::Request& request) {
  const v1::ScoreRequest& score = request.score();
  nlohmann::json items = nlohmann::json::array();
  for (const v1::TextOrIds& item : score.items()) {
    items.push_back(IdsOf(item.ids()));
  }
  return nlohmann::json{{"query", IdsOf(score.query().ids())},
                        {"items", items},
                        {"label_token_ids", IdsOf(score.label_token_ids().for_all())}}
      .dump();
}

}  // namespace scorecast::bench
