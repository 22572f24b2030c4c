#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/access/api_keys.h"
#include "coordinator/endpoints/endpoint.h"
#include "coordinator/request/values.h"
#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/job.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/service/request_observer.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The 499 of a request whose client has left.
proto::Error ClientLeft();

/// A request from its arrival to its reply: the one object that a transport, the service and the
/// scheduler share for it. Each transport derives its own, which says where the request came from
/// and what becomes of its response. Apart from that, it is handled in the same way for every
/// transport.
///
/// A call ends once: with its rows, or earlier, when its deadline passes, its client leaves or the
/// service shuts down. Whoever calls End first decides; for all others the call is over. Safe to
/// use from any thread, unless a method says otherwise.
class Call : public std::enable_shared_from_this<Call> {
 public:
  /// `arrived` is the time of its first byte.
  Call(ClientId client, Clock::time_point arrived)
      : client_(std::move(client)), arrived_(arrived) {}
  /// A response that was never formed counts as that of a client that has left.
  virtual ~Call();

  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // What the transport knows of it.

  /// The client whose request it is: see Job::client.
  const ClientId& client() const { return client_; }
  /// The id by which the client knows it, for the log; may be empty.
  virtual std::string_view id() const { return {}; }
  /// The count that the bytes of its reply belong to.
  virtual HeldBytes& replies() = 0;
  /// Upper bound on the bytes that its reply takes for each byte of the response as a message: see
  /// EndpointRequest::ResponseBytesBound.
  virtual std::int64_t bytes_per_message_byte() const { return 1; }
  /// The 400 for a request that streams, if this transport cannot stream.
  virtual std::optional<proto::Error> StreamFault() const { return std::nullopt; }

  // For the transport, before RequestService::Admit, on one thread at a time.

  /// Not called if the request names no endpoint.
  void SetEndpoint(const Endpoint& endpoint) { endpoint_ = &endpoint; }
  /// Who was let in with a key, and is the client from now on. Not called if clients need none.
  void SetHolder(Holder holder) {
    holder_ = std::move(holder);
    client_ = holder_->Client(client_.connection);
  }
  /// The request is another client's, which was let in without a key.
  void SetClient(ClientId client) {
    holder_ = nullptr;
    client_ = std::move(client);
  }
  void SetArrived(Clock::time_point arrived) { arrived_ = arrived; }
  /// The request has this deadline, unless it has an earlier one.
  void SetLatest(Clock::time_point latest) { latest_ = latest; }
  /// `bytes` are those of the request. They stay held until it is prepared or over.
  void HoldBytes(Held bytes) { bytes_ = std::move(bytes); }
  /// What the transport gives the request: see EndpointRequest.
  void SetDefaults(std::optional<std::uint64_t> seed, std::optional<ResponseIdentity> identity) {
    default_seed_ = seed;
    identity_ = identity;
  }
  /// See EndpointRequest::sent.
  void SetSent(SentPositions sent) { sent_ = std::move(sent); }

  // For the transport, at any time.

  Clock::time_point arrived() const { return arrived_; }
  /// See SetLatest.
  const std::optional<Clock::time_point>& latest() const { return latest_; }
  /// Null if the client has shown no key.
  const Holder& holder() const { return holder_; }
  /// Null if the request names none.
  const Endpoint* endpoint() const { return endpoint_; }
  /// Records that the client has left. True if the service has admitted the call: it must then be
  /// told, by RequestService::Cancel. Otherwise the transport drops the call when it looks at
  /// has_left, or Admit finds it out.
  bool Leave();
  bool has_left() const { return has_left_; }

  // For the transport, once OnEnd was called.

  /// Whether the reply may have more than kLongBytes. Forming it then takes long.
  bool has_long_reply() const { return result_ && reply_bytes_ > kLongBytes; }
  /// Forms the response. Takes time. Called at most once, while the service lives, and not on the
  /// computing thread.
  proto::Expected<std::unique_ptr<EndpointResponse>> Respond();
  /// Called when the bytes of the reply are counted: frees the room that was held for them.
  void ReleaseRoom() { room_.reset(); }

  // For the service.

  /// `observer` is told of the call's end; may be null. It must outlive the call, which a job in
  /// the pass in flight may keep alive for longer than the service.
  void SetObserver(RequestObserver* observer) { observer_ = observer; }
  /// Records the checked parts of the request. `room` is held for `reply_bytes`, the upper bound on
  /// the bytes of the reply. Called once, before other threads may end the call.
  void Accept(std::unique_ptr<EndpointRequest> request, std::int64_t reply_bytes, Held room,
              std::optional<Clock::time_point> deadline);
  /// From now on Leave says that the service has the call. False if the client has left already.
  bool Admitted();
  /// Absent if the request names none.
  std::optional<Clock::time_point> deadline() const { return deadline_; }
  /// True once the call is over.
  const std::atomic<bool>& is_over() const { return is_over_; }

  /// Takes the request and its bytes, in order to prepare it. Null if the call is over. Called at
  /// most once.
  std::pair<std::unique_ptr<EndpointRequest>, Held> TakeRequest();
  /// Records how the rows and the deltas become the response, and `model`, which the response
  /// names. False if the call is over.
  bool Prepared(std::shared_ptr<Readout> readout, coordinator::FormDelta form_delta,
                std::string model);
  /// Records the ticket of the queued job. False if the call is over: the ticket must then be
  /// cancelled.
  bool Queued(JobTicket ticket);
  /// Passes a delta to the transport, unless the call is over.
  void Delta(std::size_t output, CompletionDelta delta);

  /// Ends the call with its rows. False if it is over. `result.rows` has no error.
  bool End(JobResult result);
  /// Ends the call with an error, and frees what it holds. Returns the ticket of its job, which is
  /// to be cancelled, or Scheduler::kNoTicket. Returns nothing if the call is over.
  std::optional<JobTicket> End(proto::Error error);
  /// Tells of the end. Called by whoever has ended the call.
  void TellEnd();

 protected:
  bool streams() const { return streams_; }
  /// The message of a delta that OnDelta got. Called on any thread, but by one at a time.
  std::unique_ptr<EndpointResponse> FormDelta(std::size_t output, CompletionDelta delta) const;

  /// Called on the computing thread if the request streams, and not after OnEnd. Must return soon.
  virtual void OnDelta(std::size_t output, CompletionDelta delta) = 0;
  /// The response can be formed. Called once, on any thread, such as the computing thread or the
  /// thread of the deadlines. Must return soon.
  virtual void OnEnd() = 0;

 private:
  proto::Expected<std::unique_ptr<EndpointResponse>> Form();
  std::string_view HolderName() const;
  /// The times of a call that has rows.
  Timings timings() const;
  /// Tells the observer, once.
  void Observe(int code, const EndpointResponse* response);

  ClientId client_;
  Clock::time_point arrived_;
  std::optional<Clock::time_point> latest_;
  Holder holder_;
  const Endpoint* endpoint_ = nullptr;
  RequestObserver* observer_ = nullptr;
  std::optional<Clock::time_point> deadline_;
  bool streams_ = false;
  std::int64_t reply_bytes_ = 0;
  std::optional<std::uint64_t> default_seed_;
  std::optional<ResponseIdentity> identity_;
  SentPositions sent_;
  std::atomic<bool> has_left_ = false;
  std::atomic<bool> is_over_ = false;

  std::mutex mutex_;
  bool is_admitted_ = false;
  std::unique_ptr<EndpointRequest> request_;  ///< Until it is prepared.
  Held bytes_;                                ///< Those of the request.
  Held room_;                                 ///< The bound on the bytes of the reply.
  Clock::time_point prepared_since_;          ///< When it began to be checked and tokenized.
  Clock::time_point queued_since_;
  std::shared_ptr<Readout> readout_;
  coordinator::FormDelta form_delta_;  ///< Not changed once there are deltas, like the model.
  std::string model_;
  JobTicket ticket_ = 0;
  // One of these is set when the call is over. Then only the thread that responds uses them.
  std::optional<JobResult> result_;
  std::optional<proto::Error> error_;
};

}  // namespace scorecast::coordinator
