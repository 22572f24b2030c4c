#include "tests/coordinator/transports/socket/fake_socket_server.h"

#include <memory>
#include <utility>

#include <boost/asio/write.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/socket/frame_protocol.h"
#include "tests/coordinator/endpoints/asking.h"

namespace scorecast::coordinator {

FakeSocketServer::FakeSocketServer(const SocketOptions& options,
                                   const SchedulerOptions& scheduler_options,
                                   RequestObserver* observer)
    : fake_(FakeServer::MultiItem(), scheduler_options, Endpoints(), Clock::now, observer),
      server_(std::make_unique<RequestServer>(fake_.service, options, /*io_threads=*/2)),
      port_(ListenForFrames(*server_, fake_.service, [this, server = server_.get()] {
        return StateOf({fake_.cluster.Status(), fake_.scheduler.status(), server->status()},
                       fake_.service.is_draining());
      })) {}

FakeSocketServer::~FakeSocketServer() {
  fake_.cluster.Release();
  fake_.scheduler.WaitIdle();
  server_.reset();
}

std::unique_ptr<launcher::Client> FakeSocketServer::Connect() const {
  return std::make_unique<launcher::Client>("127.0.0.1:" + std::to_string(port_));
}

v1::Response FakeSocketServer::ResponseTo(const v1::Request& request) {
  const auto call = std::make_shared<AskingCall>();
  const Endpoint& endpoint = *fake_.service.FindByMessageField(request.endpoint_case());
  Begin(fake_.service, endpoint, endpoint.FromMessage(request), call);
  const auto formed = call->Wait().Respond();
  const google::protobuf::Message& message = formed.value()->message();
  v1::Response response;
  if (request.has_chunked()) {
    response.mutable_chunked()->CopyFrom(message);
  } else {
    response.mutable_score()->CopyFrom(message);
  }
  return response;
}

std::uint16_t ListenForFrames(RequestServer& server, const RequestService& service,
                              std::function<ServerState()> state) {
  return server.Listen(OpenListeningSocket("127.0.0.1", 0),
                       MakeFrameProtocol(service.endpoints(), {}, std::move(state)));
}

v1::Request NumberedRequest(std::uint64_t number) {
  v1::Request request;
  request.set_request_id(number);
  v1::ScoreRequest& score = *request.mutable_score();
  score.mutable_query()->set_text("query " + std::to_string(number));
  for (std::uint64_t item = 0; item <= number % 5; ++item) {
    score.add_items()->set_text(std::string(item, 'x') + std::to_string(number % 7));
  }
  score.add_labels(" yes");
  score.add_labels(" no");
  return request;
}

Scores ScoresOf(const v1::ScoreResponse& response) {
  Scores scores;
  for (const v1::Numbers& row : response.scores()) {
    scores.emplace_back(row.values().begin(), row.values().end());
  }
  return scores;
}

void WriteBytes(launcher::Client& client, const std::string& bytes) {
  boost::asio::write(client.socket(), boost::asio::buffer(bytes));
}

}  // namespace scorecast::coordinator
