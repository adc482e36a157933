// Facts of ranks that have everything that the slab wants, for tests that take one thing away.
#pragma once

#include <string>
#include <vector>

#include "base/settings.h"
#include "topology/rank_facts.h"

namespace nccl_slab::comm {

// One socket; peer access everywhere.
inline std::vector<topology::RankFacts> good_facts(int nranks) {
  using topology::Answer;
  std::vector<topology::RankFacts> all(static_cast<std::size_t>(nranks));
  for (int rank = 0; rank < nranks; ++rank) {
    topology::RankFacts& facts = all[static_cast<std::size_t>(rank)];
    facts.rank = rank;
    facts.nranks = nranks;
    topology::set_text(facts.version, "1.2.3");
    topology::set_text(facts.boot_id, "6b1c1d4e-0000-4000-8000-000000000000");
    topology::set_text(facts.uuid, "GPU-" + std::to_string(rank));
    for (topology::PeerFacts& way : facts.peers)
      way = {topology::PathClass::kPhb, 0, Answer::kYes, Answer::kYes, Answer::kYes};
  }
  return all;
}

// As if nothing were set.
inline Settings default_settings() {
  std::vector<std::string> complaints;
  return parse_settings([](const char*) -> const char* { return nullptr; }, &complaints);
}

}  // namespace nccl_slab::comm
