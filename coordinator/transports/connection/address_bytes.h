#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "coordinator/schedule/client_id.h"
#include "coordinator/service/held_bytes.h"

namespace scorecast::coordinator {

/// Bytes that are held for the connections of one client address.
struct AddressBytes {
  HeldBytes requests;
  HeldBytes replies;
};

/// The bytes of each client address, which are part of those of all addresses. Not safe to use from
/// several threads.
class AddressBook {
 public:
  /// `limit` is that of an address: see SocketOptions::max_held_bytes_per_address. `requests` and
  /// `replies` count those of all addresses.
  AddressBook(std::int64_t limit, HeldBytes requests, HeldBytes replies);

  /// The bytes of a front, which count for no address: they are only part of those of all.
  static std::shared_ptr<AddressBytes> OfAll(const HeldBytes& requests, const HeldBytes& replies);

  /// The bytes stay counted for an address if its last connection is closed while they are held.
  std::shared_ptr<AddressBytes> Of(const ClientName& address);

  std::size_t size() const { return addresses_.size(); }

 private:
  /// Forgets the addresses that have neither a connection nor bytes.
  void Sweep();

  const std::int64_t limit_;
  const HeldBytes requests_;
  const HeldBytes replies_;
  std::map<ClientName, std::shared_ptr<AddressBytes>> addresses_;
  std::size_t sweep_at_ = 64;  ///< Number of addresses at which Sweep is called next.
};

}  // namespace scorecast::coordinator
