#include "tests/coordinator/transports/http/fake_http_server.h"

#include <utility>

#include "coordinator/json/json_text.h"
#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/http/http_protocol.h"
#include "tests/coordinator/endpoints/asking.h"

namespace scorecast::coordinator {

FakeHttpServer::FakeHttpServer(const SocketOptions& options, HttpOptions http,
                               const SchedulerOptions& scheduler_options, RequestObserver* observer,
                               const ServerOptions& server_options)
    : fake_(server_options, scheduler_options, Endpoints(), Clock::now, observer),
      server_(std::make_unique<RequestServer>(fake_.service, options, /*io_threads=*/2)),
      port_(server_->Listen(OpenListeningSocket("127.0.0.1", 0),
                            MakeHttpProtocol(fake_.service.endpoints(), std::move(http)))) {}

FakeHttpServer::~FakeHttpServer() {
  fake_.cluster.Release();
  fake_.scheduler.WaitIdle();
  server_.reset();
}

nlohmann::json FakeHttpServer::ScoreOf(const nlohmann::json& body) {
  const auto call = std::make_shared<AskingCall>();
  const Endpoint& endpoint = *fake_.service.FindByUrl("/v1/score");
  Begin(fake_.service, endpoint, endpoint.FromJson(body), call);
  return Stable(JsonOf(*call->Wait().Respond().value()));
}

nlohmann::json ScoreBody(std::uint64_t number) {
  nlohmann::json body = {{"query", "query " + std::to_string(number)}, {"labels", {" yes", " no"}}};
  for (std::uint64_t item = 0; item <= number % 5; ++item) {
    body["items"].push_back(std::string(item, 'x') + std::to_string(number % 7));
  }
  return body;
}

std::string ScorePost(std::uint64_t number, const std::string& fields) {
  return Post("/v1/score", ScoreBody(number).dump(), fields);
}

nlohmann::json StreamBody(int max_new_tokens) {
  return {{"prompt", "a prompt"},
          {"max_new_tokens", max_new_tokens},
          {"ignore_eos", true},
          {"stream", true}};
}

nlohmann::json Stable(nlohmann::json response) {
  response.erase("timings");
  if (response.contains("usage")) {
    response["usage"].erase("cached_tokens");
  }
  return response;
}

}  // namespace scorecast::coordinator
