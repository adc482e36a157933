// See series.h.
#include "series.h"

#include <sstream>

namespace nccl_slab::bench {
namespace {

constexpr ElementType kElements[] = {
    {"bf16", ncclBfloat16, 2}, {"fp16", ncclFloat16, 2}, {"fp32", ncclFloat32, 4}};

// One of two words.
bool parse_choice(const std::string& text, const char* yes, const char* no, bool* value) {
  *value = text == yes;
  return *value || text == no;
}

bool parse_one(const std::string& text, Series* series) {
  std::istringstream words(text);
  std::string element, mode, place;
  std::getline(words, element, '/');
  std::getline(words, mode, '/');
  std::getline(words, place);
  return parse_element(element, &series->element) && parse_choice(mode, "graph", "eager", &series->graph) &&
         parse_choice(place, "in", "out", &series->in_place);
}

}  // namespace

std::string name_of(const Series& series) {
  return std::string(series.element.name) + (series.graph ? "/graph" : "/eager") +
         (series.in_place ? "/in" : "/out");
}

bool parse_element(const std::string& name, ElementType* element) {
  for (const ElementType& candidate : kElements) {
    if (name != candidate.name) continue;
    *element = candidate;
    return true;
  }
  return false;
}

bool parse_series(const std::string& text, std::vector<Series>* list) {
  list->clear();
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    if (!parse_one(word, &list->emplace_back())) return false;
  return !list->empty();
}

}  // namespace nccl_slab::bench
