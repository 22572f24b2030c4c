#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/service/call.h"
#include "coordinator/service/request_service.h"
#include "coordinator/transports/connection/call_handler.h"
#include "coordinator/transports/connection/connection_call.h"
#include "coordinator/transports/connection/fair_pool.h"
#include "coordinator/transports/connection/patient_pool.h"
#include "coordinator/transports/connection/socket_options.h"
#include "coordinator/transports/connection/text_backlog.h"
#include "coordinator/transports/connection/turn_pool.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// Turns requests into the bytes of their replies: the part of a transport that needs no socket.
///
/// Short requests and replies are handled on the I/O threads. All longer work is done by threads of
/// its own, at which client addresses take turns, so that it delays no short request: the parsing
/// of long requests, which shows their deadlines, by one thread for those of up to a MiB and one
/// for larger ones, or their refusal if their turn does not come in time; the tokenizing of all but
/// the shortest requests by several, at which even a request under way gives way to others; and the
/// forming of long replies by several others.
class RequestHandler : public CallHandler, private CallResponder {
 public:
  /// `threads` is the number of threads for each kind of long work that has several. The formats of
  /// all calls are EndpointFormats.
  RequestHandler(RequestService& service, const SocketOptions& options, int threads);
  /// See Finish.
  ~RequestHandler() override { End(); }

  /// Calls Begun of the call when it is queued, and its response, if it is still to be computed,
  /// counts in the call's replies.
  void Handle(std::shared_ptr<ConnectionCall> call, std::optional<proto::Error> fault) override;
  void Cancel(const std::vector<std::shared_ptr<Call>>& calls) override { service_.Cancel(calls); }
  void NoteIoWait(Clock::duration wait) override { service_.NoteIoWait(wait); }
  void StartDraining() override { service_.StartDraining(); }
  bool is_draining() const override { return service_.is_draining(); }
  void Finish() override { End(); }

 private:
  /// Requests with more bytes than this are tokenized by `preparing_`. Small, because the items of
  /// a request may each be tokenized together with its query.
  static constexpr std::size_t kShortBytes = std::size_t{1} << 10;
  /// Upper bound on the memory that tokenizing takes for each byte of a request: a token id.
  static constexpr std::int64_t kTokenBytes = 4;

  /// Long requests with more bytes than this are parsed by `parsing_large_`.
  static constexpr std::size_t kLargeBytes = std::size_t{1} << 20;

  void NoteRefusal(const Endpoint* endpoint, const ClientName& client,
                   const proto::Error& error) override {
    service_.NoteRefusal(endpoint, client, error);
  }
  std::string FormDelta(ConnectionCall& call, const EndpointResponse& delta) override;
  void Respond(std::shared_ptr<ConnectionCall> call) override;
  void Ended() override;
  void End();
  /// Lets a long request be parsed when it is its turn.
  void PostParsing(PatientPool& pool, std::shared_ptr<ConnectionCall> call);
  void Read(const std::shared_ptr<ConnectionCall>& call,
            const std::optional<proto::Error>& refusal);
  /// See RequestService::Prepare.
  bool Prepare(const std::shared_ptr<ConnectionCall>& call, const std::function<void()>& give_way);
  void Form(ConnectionCall& call);

  RequestService& service_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t calls_ = 0;  ///< Those that the service has and that are not over.

  PatientPool parsing_;
  PatientPool parsing_large_;
  TextBacklog backlog_;  ///< The work of `preparing_`.
  TurnPool preparing_;
  FairPool replying_;
};

}  // namespace scorecast::coordinator
