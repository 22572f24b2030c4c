#include "coordinator/doors/json_doors.h"

#include <utility>

#include "coordinator/doors/score_json.h"

namespace scorecast::coordinator {
namespace {

JsonAnswer Refusal(const proto::Error& error) { return {error.code, ErrorBody(error)}; }

JsonDoor ScoreDoor(ScoreService& service) {
  return [&service](const nlohmann::json& body, Clock::time_point arrived,
                    std::function<void(FinishJson)> ready) {
    proto::Expected<ScoreRequest> request = ScoreRequestFromJson(body);
    if (!request) {
      ready([error = std::move(request).error()] { return Refusal(error); });
      return;
    }
    service.Score(*request, arrived, [ready = std::move(ready)](ScoreService::Finish finish) {
      ready([finish = std::move(finish)] {
        const proto::Expected<ScoreResponse> response = finish();
        return response ? JsonAnswer{200, ScoreResponseToJson(response.value())}
                        : Refusal(response.error());
      });
    });
  };
}

}  // namespace

JsonDoors MakeJsonDoors(ScoreService& score) {
  return {
      {"/v1/score", ScoreDoor(score)},
  };
}

}  // namespace scorecast::coordinator
