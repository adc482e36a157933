#include "comm/statistics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "base/log.h"
#include "base/owned_fd.h"
#include "base/settings.h"

namespace nccl_slab::comm {
namespace {

// Never destroyed: communicators may be used while static objects of the program are destroyed.
struct Ledger {
  std::mutex mutex;
  std::vector<std::shared_ptr<Statistics>> all;
  pid_t process = ::getpid();
};

Ledger& ledger() {
  static auto* instance = new Ledger;
  return *instance;
}

void write_file(const std::string& path, const std::string& text) {
  const OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    NCCL_SLAB_WARN("NCCL_SLAB_STATS_FILE: cannot write %s", path.c_str());
}

// At exit. A forked child that exits has its parent's communicators in memory, but they are not its own.
void write_summary() {
  Ledger& book = ledger();
  const std::lock_guard lock(book.mutex);
  if (book.process != ::getpid() || book.all.empty()) return;
  if (!settings().stats_file.empty())
    write_file(with_process_id(settings().stats_file), statistics_json(book.all));
  if (!settings().stats) return;
  const std::string text = statistics_text(book.all);
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

std::string json_count(const Statistics::Count& count) {
  return "{\"calls\": " + std::to_string(count.calls.load()) +
         ", \"bytes\": " + std::to_string(count.bytes.load()) + "}";
}

// {WORD: {...}, ...} of those that were counted.
template <typename Counts, typename Word>
std::string json_counts(const Counts& counts, Word word) {
  std::string result;
  for (std::size_t k = 0; k < counts.size(); ++k)
    if (counts[k].calls.load() != 0)
      result += (result.empty() ? "" : ", ") + ("\"" + std::string(word(k)) + "\": ") + json_count(counts[k]);
  return "{" + result + "}";
}

const char* word_of_reason(std::size_t k) {
  return reason_word(static_cast<Reason>(k));
}
const char* word_of_algorithm(std::size_t k) {
  return tune::word(static_cast<tune::Algorithm>(k));
}

// Nothing unless calls were to be verified.
std::string json_verified(const Statistics& s) {
  if (s.verified.calls.load() + s.unverified.calls.load() == 0) return "";
  return ", \"verified\": " + json_count(s.verified) + ", \"unverified\": " + json_count(s.unverified);
}

void append_line(const Statistics& s, const char* path, const Statistics::Count& count, std::string* text) {
  if (count.calls.load() == 0) return;
  char line[160];
  std::snprintf(line, sizeof(line), "nccl-slab: rank %d of %d: %s %llu calls, %llu bytes\n", s.rank, s.nranks,
                path, static_cast<unsigned long long>(count.calls.load()),
                static_cast<unsigned long long>(count.bytes.load()));
  *text += line;
}

}  // namespace

std::shared_ptr<Statistics> make_statistics(int rank, int nranks) {
  auto statistics = std::make_shared<Statistics>(rank, nranks);
  Ledger& book = ledger();
  const std::lock_guard lock(book.mutex);
  if (book.process != ::getpid()) {  // a forked child starts its own book
    book.all.clear();
    book.process = ::getpid();
  }
  static const int arranged = std::atexit(&write_summary);
  (void)arranged;
  book.all.push_back(statistics);
  return statistics;
}

std::string statistics_json(const std::vector<std::shared_ptr<Statistics>>& all) {
  std::string text = "[";
  for (const auto& s : all) {
    text += text.size() > 1 ? ",\n " : "\n ";
    text += "{\"rank\": " + std::to_string(s->rank) + ", \"nranks\": " + std::to_string(s->nranks) +
            ", \"slab\": " + json_count(s->slab) +
            ", \"forward\": " + json_counts(s->forward, &word_of_reason) +
            ", \"algorithms\": " + json_counts(s->by_algorithm, &word_of_algorithm) + json_verified(*s) + "}";
  }
  return text + "\n]\n";
}

std::string statistics_text(const std::vector<std::shared_ptr<Statistics>>& all) {
  std::string text;
  for (const auto& s : all) {
    append_line(*s, "slab", s->slab, &text);
    append_line(*s, "compared with NCCL's", s->verified, &text);
    append_line(*s, "to be compared, but not", s->unverified, &text);
    for (std::size_t k = 0; k < s->forward.size(); ++k)
      append_line(*s, (std::string("forwarded, ") + word_of_reason(k) + ":").c_str(), s->forward[k], &text);
  }
  return text;
}

}  // namespace nccl_slab::comm
