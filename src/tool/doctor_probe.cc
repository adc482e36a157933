#include "tool/doctor_probe.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "tool/doctor_host.h"
#include "tool/doctor_worker.h"
#include "topology/discover.h"
#include "topology/pair_set.h"

namespace nccl_slab::tool {
namespace {

void progress(const char* format, int a, int b) {
  std::fputs("nccl-slab doctor: ", stderr);
  std::fprintf(stderr, format, a, b);
  std::fputc('\n', stderr);
}

class Examination {
 public:
  DoctorReport run() {
    report_.host = read_host();
    report_.topology = make_topo_report(topology::Machine(), "no GPU can be examined");
    const int gpus = count_gpus();
    if (gpus == 0) return std::move(report_);
    const HostRegions regions(gpus);
    if (regions.begin() == reinterpret_cast<char*>(-1)) {
      report_.problem = "no memory for the examination";
      return std::move(report_);
    }
    start_workers(regions, gpus);
    report_.topology = find_topology();
    for (int from = 0; from < gpus; ++from)
      for (int to = 0; to < gpus; ++to)
        if (from != to && answers(from) && answers(to)) examine_pair(from, to);
    ask_the_library();
    return std::move(report_);
  }

 private:
  // In a process of its own: CUDA may not be used before a fork.
  int count_gpus() {
    const HostRegions none(1);
    Worker scout;
    Answer answer;
    Status status = Worker::start(none, &scout);
    if (status) status = scout.ask({}, &answer);
    if (!status) report_.problem = "no GPU can be examined: " + status.what();
    if (!status || answer.number[0] == 0) {
      if (status) report_.problem = "CUDA sees no GPU";
      return 0;
    }
    report_.host.driver = answer.number[1];
    report_.host.runtime = answer.number[2];
    report_.host.nccl = answer.number[3];
    return answer.number[0];
  }

  void start_workers(const HostRegions& regions, int gpus) {
    report_.gpus.resize(static_cast<std::size_t>(gpus));
    answers_.resize(static_cast<std::size_t>(gpus));
    workers_.resize(static_cast<std::size_t>(gpus));
    for (int gpu = 0; gpu < gpus; ++gpu) {
      progress("opening GPU %d of %d", gpu, gpus);
      if (const Status status = open(regions, gpu); !status) report_.gpus[at(gpu)].problem = status.what();
    }
  }

  Status open(const HostRegions& regions, int gpu) {
    if (const Status status = Worker::start(regions, &workers_[at(gpu)]); !status) return status;
    Question question;
    question.order = Order::kOpen;
    question.gpu = gpu;
    Answer& answer = answers_[at(gpu)];
    if (const Status status = ask(gpu, question, &answer); !status) return status;
    GpuReport& report = report_.gpus[at(gpu)];
    report.pci = answer.pci;
    report.uuid = answer.uuid;
    report.model = answer.text;
    report.bar1 = bar1_bytes(answer.pci);
    return measure_host(gpu);
  }

  Status measure_host(int gpu) {
    Answer answer;
    Question question = about(gpu, Order::kMeasure, true);
    if (const Status status = ask(gpu, question, &answer); !status) return status;
    report_.gpus[at(gpu)].host_write = answer.value[0];
    report_.gpus[at(gpu)].host_stored = answer.value[2];
    question.order = Order::kMeasureRead;
    const Status status = ask(gpu, question, &answer);
    report_.gpus[at(gpu)].host_read = answer.value[0];
    return status;
  }

  TopoReport find_topology() const {
    topology::Sources sources;
    for (const GpuReport& gpu : report_.gpus) sources.pci.push_back(gpu.pci);
    sources.topology_file = topology::user_topology_file();
    sources.verbs = "libibverbs.so.1";
    std::vector<std::string> notes;
    topology::Machine machine = topology::discover(sources, &notes);
    for (int gpu = 0; gpu < machine.gpu_count(); ++gpu) {
      machine.gpus[at(gpu)].number = gpu;
      if (machine.gpus[at(gpu)].model.empty()) machine.gpus[at(gpu)].model = report_.gpus[at(gpu)].model;
    }
    return make_topo_report(std::move(machine), notes.empty() ? "" : notes.front());
  }

  void examine_pair(int from, int to) {
    progress("pair %d -> %d", from, to);
    PairReport pair;
    pair.from = from;
    pair.to = to;
    Question question = about(to, Order::kMap, false);
    std::memcpy(question.handle, answers_[at(to)].handle, sizeof(question.handle));
    std::snprintf(question.pci, sizeof(question.pci), "%s", report_.gpus[at(to)].pci.c_str());
    Answer answer;
    if (ask(from, question, &answer)) {
      pair.access = answer.number[0] != 0;
      pair.peer.usable = answer.number[1] != 0;
      if (!pair.peer.usable) pair.peer.problem = answer.text;
      if (pair.peer.usable) examine_way(from, to, false, &pair.peer);
      pair.host.usable = true;
      examine_way(from, to, true, &pair.host);
    }
    report_.pairs.push_back(pair);
  }

  void examine_way(int from, int to, bool host, WayReport* way) {
    Question question = about(to, Order::kWrite, host);
    question.seed = ++seed_;
    Answer answer;
    Status status = ask(from, question, &answer);
    question.order = Order::kCheck;
    if (status) status = ask(to, question, &answer);
    way->whole = status && answer.number[0] == 1;
    question.order = Order::kMeasure;
    if (status) status = ask(from, question, &answer);
    way->gigabytes = answer.value[0];
    way->microseconds = answer.value[1];
    way->stored = answer.value[2];
    if (status) return;
    way->usable = false;
    way->problem = status.what();
  }

  // Its own set-up, with a process for each GPU.
  void ask_the_library() {
    const int gpus = std::min(static_cast<int>(report_.gpus.size()), topology::kMaxRanks);
    for (int gpu = 0; gpu < gpus; ++gpu)
      if (!answers(gpu)) return;
    if (gpus < 2) return;
    progress("setting up a communicator of %d of %d GPUs", gpus, static_cast<int>(report_.gpus.size()));
    Question question = about(0, Order::kEnter, false);
    question.gpus = gpus;
    question.seed = static_cast<std::uint64_t>(::getpid()) << 32 ^
                    static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    Answer answer;
    for (int gpu = 0; gpu < gpus; ++gpu)
      if (!ask(gpu, question, &answer)) return;
    question.order = Order::kSetUp;
    for (int gpu = 0; gpu < gpus; ++gpu) (void)workers_[at(gpu)].tell(question);
    for (int gpu = 0; gpu < gpus; ++gpu) take_verdict(gpu);
  }

  void take_verdict(int gpu) {
    Answer answer;
    const Status status = workers_[at(gpu)].hear(&answer);
    VerdictReport& verdict = report_.verdict;
    if (!status) report_.gpus[at(gpu)].problem = status.what();
    verdict.broken |= !status || answer.number[1] != 0;
    verdict.milliseconds = std::max(verdict.milliseconds, answer.value[0]);
    if (verdict.tried) return;
    verdict.tried = true;
    verdict.slab = status && answer.number[0] != 0;
    verdict.text = status ? answer.text : status.what();
  }

  static std::size_t at(int gpu) { return static_cast<std::size_t>(gpu); }
  bool answers(int gpu) const { return report_.gpus[at(gpu)].problem.empty(); }

  static Question about(int owner, Order order, bool host) {
    Question question;
    question.order = order;
    question.owner = owner;
    question.host = host;
    return question;
  }

  Status ask(int gpu, const Question& question, Answer* answer) {
    return workers_[at(gpu)].ask(question, answer);
  }

  DoctorReport report_;
  std::vector<Worker> workers_;
  std::vector<Answer> answers_;  // of kOpen
  std::uint64_t seed_ = 0;
};

}  // namespace

DoctorReport examine() {
  return Examination().run();
}

}  // namespace nccl_slab::tool
