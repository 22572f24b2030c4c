#pragma once

#include <string>
#include <string_view>

#include "coordinator/front/replicas.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

// What the reply to a request says besides its content.

bool IsSuccess(const v1::Response& response);

/// What is wrong with a part of the reply to a request that has this field of v1::Request. Whatever
/// a replica says goes to a client, and a connection carries replies to many. So a status, a field
/// of a header or a kind of message that no service sends is a fault. Empty if there is none.
std::string FaultOfReply(int request_field, const v1::Response& response, bool is_first,
                         bool is_last);

/// Whether the reply is that of a replica which takes no request now, or not so many.
bool IsRefusal(const v1::Response& response);

/// The status of a refusal, and its reason if it is a message, for the log.
std::string RefusalText(const v1::Response& refusal);

/// Whether a replica refuses the request because it drains.
bool IsDraining(const v1::Response& response, const Replica& replica);

}  // namespace scorecast::coordinator
