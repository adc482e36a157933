// See ledger.h. The handler of the signals keeps to what may be called in one: it copies and writes bytes.
#include "ledger.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <string_view>

#include "require.h"

namespace programs {
namespace {

Ledger* ledger = nullptr;
thread_local int rank_of_thread = -1;
int rank_of_process = -1;  // the last that entered a row

size_t append(char* line, size_t size, std::string_view text) {
  std::copy(text.begin(), text.end(), line + size);
  return size + text.size();
}

size_t append(char* line, size_t size, int number) {
  if (number >= 10) size = append(line, size, number / 10);
  line[size] = static_cast<char>('0' + number % 10);
  return size + 1;
}

}  // namespace

Ledger* Ledger::create() {
  void* memory = ::mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  ledger = static_cast<Ledger*>(memory);
  struct sigaction action {};
  action.sa_handler = note_death;
  action.sa_flags = SA_RESETHAND;  // so that the process dies of it when it is raised again
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
  return ledger;
}

void Ledger::note_death(int signal) {
  const int rank = rank_of_thread >= 0 ? rank_of_thread : rank_of_process;
  if (rank >= 0) {
    Place& place = ledger->places_[rank];
    char line[sizeof place.row + 64];
    size_t size = append(line, append(line, 0, rank), place.inside ? " " : " after ");
    size = append(line, append(line, size, place.row), ": died of signal ");
    size = append(line, append(line, size, signal), "\n");
    place.died = true;
    (void)!::write(STDOUT_FILENO, line, size);
  }
  ::raise(signal);
}

void Ledger::enter(int rank, const std::string& row) {
  Place& place = places_[rank];
  std::snprintf(place.row, sizeof place.row, "%s", row.c_str());
  place.inside = true;
  rank_of_thread = rank_of_process = rank;
}

void Ledger::leave(int rank) {
  places_[rank].inside = false;
}

std::set<std::string> Ledger::take_deadly() {
  std::set<std::string> rows;
  for (Place& place : places_) {
    if (place.died && place.inside) rows.insert(place.row);
    place.died = place.inside = false;
  }
  return rows;
}

}  // namespace programs
