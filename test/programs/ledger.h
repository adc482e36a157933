// Ledger: which row of wrong_calls each rank is in, kept where the death of a rank leaves it, so that a row of
// which NCCL dies is part of the transcript like any other answer. Thread safety: each rank writes its own place.
#pragma once

#include <set>
#include <string>

namespace programs {

class Ledger {
 public:
  // Shared with every process that is forked afterwards. A signal that ends a process is noted from then on, in
  // the ledger and as the line `RANK ROW: died of signal N`; the process dies of it all the same.
  static Ledger* create();

  // Called by a rank's thread; what dies on other threads of its process is noted for the last that called.
  void enter(int rank, const std::string& row);
  void leave(int rank);

  // The rows of which ranks have died since the last call. A death between two rows adds none.
  std::set<std::string> take_deadly();

 private:
  static constexpr int kMaxRanks = 64;

  struct Place {
    char row[120];
    bool inside;
    bool died;
  };

  static void note_death(int signal);

  Place places_[kMaxRanks];
};

}  // namespace programs
