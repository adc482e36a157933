#include "topology/pci_address.h"

#include <charconv>
#include <cstdio>
#include <vector>

namespace nccl_slab::topology {
namespace {

std::optional<std::uint32_t> hexadecimal(std::string_view digits, std::uint32_t largest) {
  std::uint32_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
  if (digits.empty() || error != std::errc() || stop != end || value > largest) return std::nullopt;
  return value;
}

// Cuts the part after the last `separator` off *text; the whole text when there is none.
std::string_view take_last(std::string_view* text, char separator) {
  const std::size_t at = text->rfind(separator);
  const std::string_view part = at == std::string_view::npos ? *text : text->substr(at + 1);
  *text = at == std::string_view::npos ? std::string_view() : text->substr(0, at);
  return part;
}

}  // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  std::string_view rest = text;
  const bool has_function = rest.find('.') != std::string_view::npos;
  const auto function = has_function ? hexadecimal(take_last(&rest, '.'), 7) : 0u;
  if (rest.find(':') == std::string_view::npos) return std::nullopt;
  // A device number has five bits; files with made-up addresses do not care, and need only be told apart.
  const auto device = hexadecimal(take_last(&rest, ':'), 255);
  const bool has_domain = rest.find(':') != std::string_view::npos;
  const auto bus = hexadecimal(take_last(&rest, ':'), 255);
  const auto domain = has_domain ? hexadecimal(rest, 0xffffffffu) : 0u;
  if (!domain || !bus || !device || !function) return std::nullopt;
  return PciAddress{*domain, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*device),
                    static_cast<std::uint8_t>(*function)};
}

std::string to_string(const PciAddress& address) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", address.domain, address.bus, address.device,
                address.function);
  return text;
}

}  // namespace nccl_slab::topology
