#include "coordinator/transports/connection/call_handler.h"

#include <utility>

namespace scorecast::coordinator {

void CallHandler::CountRefusal(const Endpoint* endpoint, const ClientId& client,
                               const Holder& holder, const proto::Error& error) {
  const bool is_stranger = keys_ != nullptr && holder == nullptr;
  CountRefusal(endpoint, is_stranger ? ClientName() : client.address, error);
}

void CallHandler::CountRefusal(const Endpoint* endpoint, const ClientName& client,
                               const proto::Error& error) {
  counters_.CountRefusal(error.reason);
  NoteRefusal(endpoint, client, error);
}

std::optional<proto::Error> CallHandler::AccessFault(ConnectionCall& call,
                                                     std::string_view model) const {
  if (keys_ == nullptr || call.is_of_front()) {
    return std::nullopt;
  }
  auto holder = keys_->LetIn(call.holder(), model, Clock::now());
  if (!holder) {
    return std::move(holder).error();
  }
  call.SetHolder(*std::move(holder));
  return std::nullopt;
}

}  // namespace scorecast::coordinator
