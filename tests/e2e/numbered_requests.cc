#include "tests/e2e/numbered_requests.h"

#include "tests/e2e/models.h"
#include "tests/e2e/socket_transport.h"

namespace scorecast::testing {

using nlohmann::json;

BatchCommand NumberedCommand(int ranks, const std::vector<std::string>& more_flags) {
  BatchCommand command = {MakeModel(""), {"--multi-item-scoring-delimiter", "7"}, ranks};
  command.flags.insert(command.flags.end(), more_flags.begin(), more_flags.end());
  return command;
}

json NumberedBody(std::uint64_t number) {
  const auto ids = [&](std::uint64_t first, std::uint64_t count) {
    json list = json::array();
    for (std::uint64_t i = first; i < first + count; ++i) {
      list.push_back(10 + (number * 31 + i * 7) % 600);
    }
    return list;
  };
  json items = json::array();
  for (std::uint64_t item = 0; item < 1 + number % 4; ++item) {
    items.push_back(ids(100 + item * 10, item + number % 3));
  }
  return {{"query", ids(0, 3 + number % 20)}, {"items", items}, {"label_token_ids", {5, 9}}};
}

std::vector<json> NumberedBodies(std::uint64_t count) {
  std::vector<json> bodies;
  for (std::uint64_t i = 0; i < count; ++i) {
    bodies.push_back(NumberedBody(i));
  }
  return bodies;
}

v1::Request NumberedRequest(std::uint64_t number) {
  return ToRequest(number, NumberedBody(number));
}

json HeavyBody(std::size_t item_length) {
  return {{"query", std::vector<int>(60, 3)},
          {"items", std::vector<std::vector<int>>(100, std::vector<int>(item_length, 4))},
          {"label_token_ids", {1, 2}}};
}

v1::Request HeavyRequest(std::uint64_t request_id, std::size_t item_length) {
  return ToRequest(request_id, HeavyBody(item_length));
}

Scores ScoresOf(const v1::Response& response) {
  Scores scores;
  for (const v1::Numbers& row : response.score().scores()) {
    scores.emplace_back(row.values().begin(), row.values().end());
  }
  return scores;
}

}  // namespace scorecast::testing
