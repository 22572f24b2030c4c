#include "launcher/engine/build_id.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include <elf.h>
#include <link.h>

namespace scorecast::launcher {
namespace {

std::size_t Aligned(std::size_t size) { return (size + 3) / 4 * 4; }

std::string Hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", byte);
    text += digits.data();
  }
  return text;
}

/// The build id among the notes of one segment; empty if it has none.
std::string BuildIdIn(std::span<const unsigned char> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof(header));
    const std::size_t content = sizeof(header) + Aligned(header.n_namesz);
    const std::size_t end = content + Aligned(header.n_descsz);
    if (end > notes.size()) {
      break;
    }
    const std::string_view name(reinterpret_cast<const char*>(notes.data()) + sizeof(header),
                                header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && name == std::string_view("GNU", 4)) {
      return Hex(notes.subspan(content, header.n_descsz));
    }
    notes = notes.subspan(end);
  }
  return {};
}

/// Called for the executable first, then for libraries. Ends the search after the executable.
int ReadExecutable(dl_phdr_info* info, std::size_t /*size*/, void* id) {
  for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    auto& text = *static_cast<std::string*>(id);
    if (segment.p_type == PT_NOTE && text.empty()) {
      text = BuildIdIn({reinterpret_cast<const unsigned char*>(info->dlpi_addr + segment.p_vaddr),
                        segment.p_memsz});
    }
  }
  return 1;
}

}  // namespace

std::string BuildId() {
  std::string id;
  dl_iterate_phdr(&ReadExecutable, &id);
  return id;
}

}  // namespace scorecast::launcher
