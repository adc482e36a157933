#include "tune/plan_text.h"

#include <algorithm>
#include <charconv>

namespace nccl_slab::tune {
namespace {

constexpr std::uint32_t kMostChannels = 1024;

bool is_word(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return !text.empty() && text.size() <= 32 && std::all_of(text.begin(), text.end(), fits);
}

// The number behind `name` if the text begins so; *text becomes the rest.
bool take_number(std::string_view name, std::string_view* text, std::uint32_t* value) {
  if (!text->starts_with(name)) return false;
  text->remove_prefix(name.size());
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (error != std::errc() || *value == 0) return false;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  if (text->starts_with(",")) text->remove_prefix(1);
  return true;
}

}  // namespace

bool parse_plan_text(std::string_view text, PlanText* plan) {
  const std::size_t colon = text.find(':');
  *plan = {std::string(text.substr(0, colon)), 0, 0};
  if (!is_word(plan->algorithm)) return false;
  if (colon == std::string_view::npos) return true;
  std::string_view rest = text.substr(colon + 1);
  std::uint32_t channels = 0;
  const bool has_channels = take_number("channels=", &rest, &channels);
  const bool has_chunk = take_number("chunk=", &rest, &plan->chunk);
  plan->channels = static_cast<int>(channels);
  return (has_channels || has_chunk) && rest.empty() && text.back() != ',' && channels <= kMostChannels;
}

std::string to_text(const PlanText& plan) {
  std::string text = plan.algorithm;
  if (plan.channels > 0) text += ":channels=" + std::to_string(plan.channels);
  if (plan.chunk > 0) text += (plan.channels > 0 ? ",chunk=" : ":chunk=") + std::to_string(plan.chunk);
  return text;
}

}  // namespace nccl_slab::tune
