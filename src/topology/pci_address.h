// PciAddress: where a device sits on the PCI bus, in one form whatever the source wrote. Sources differ:
// sysfs and NCCL write 0000:0a:00.0, NVML 00000000:0A:00.0, virtual machine buses 10000:00:02.0, and
// hand-written files 0a:00.0. Thread safety: a value; the functions are pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nccl_slab::topology {

struct PciAddress {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0, device = 0, function = 0;

  auto operator<=>(const PciAddress&) const = default;  // NOLINT(modernize-use-nullptr): clang's own 0
};

// [domain:]bus:device[.function] in hexadecimal of either case; nothing else may surround it.
std::optional<PciAddress> parse_pci_address(std::string_view text);

// As sysfs names it: 0000:0a:00.0, with more digits for a domain that needs them.
std::string to_string(const PciAddress& address);

}  // namespace nccl_slab::topology
