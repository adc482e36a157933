// Rows of wrong_calls: groups, what is wrong in them, and what is wrong with them.
#include "wrong_calls.h"

namespace programs {
namespace {

constexpr int kNoType = 99;

void ends(Caller& caller) {
  caller.note("end of no group", {ncclGroupEnd(), ncclGroupSimulateEnd(nullptr)});
  caller.note("an empty group", {ncclGroupStart(), ncclGroupEnd(), ncclGroupEnd()});
  caller.note("nested empty groups", {ncclGroupStart(), ncclGroupStart(), ncclGroupEnd(), ncclGroupEnd()});
  ncclSimInfo_t wrong{};
  caller.note("simulated end to a wrong structure",
              {ncclGroupStart(), ncclGroupSimulateEnd(&wrong), ncclGroupEnd()});
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  caller.note("simulated end", {ncclGroupStart(), caller.reduce_scatter(caller.comm),
                                ncclGroupSimulateEnd(&info), ncclGroupEnd()});
  caller.note(
      "simulated end of a failed group",
      {ncclGroupStart(), caller.reduce_scatter(caller.comm, 8, kNoType), ncclGroupSimulateEnd(&info)});
  caller.note("nested simulated end", {ncclGroupStart(), ncclGroupStart(), caller.reduce_scatter(caller.comm),
                                       ncclGroupSimulateEnd(&wrong), ncclGroupSimulateEnd(&info)});
}

void errors(Caller& caller) {
  ncclComm_t newcomm = nullptr;
  caller.note("wrong, then right", {ncclGroupStart(), caller.reduce_scatter(caller.comm, 8, kNoType),
                                    caller.reduce_scatter(caller.comm), ncclGroupEnd(), ncclGroupEnd()});
  caller.note("right, then wrong", {ncclGroupStart(), caller.reduce_scatter(caller.comm),
                                    caller.reduce_scatter(nullptr), ncclGroupEnd()});
  caller.note("wrong in an inner group",
              {ncclGroupStart(), caller.reduce_scatter(caller.comm), ncclGroupStart(),
               caller.reduce_scatter(caller.comm, 8, ncclFloat32, -1), ncclGroupEnd(), ncclGroupEnd()});
  caller.note("a wrong creator in a group",
              {ncclGroupStart(), caller.reduce_scatter(caller.comm),
               ncclCommInitRankConfig(&newcomm, 0, ncclUniqueId{}, 0, nullptr), ncclGroupEnd()});
  caller.note("in step after errors", {caller.in_step(caller.comm)});
}

// A communicator's streams in a group are all captured by one graph, or none is.
void captures(Caller& caller) {
  cudaStream_t captured;
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
  const auto on = [&](cudaStream_t stream) {
    return ncclReduceScatter(caller.send.data(), caller.receive.data(), 8, ncclFloat32, ncclSum, caller.comm,
                             stream);
  };
  for (bool captured_first : {false, true}) {
    REQUIRE(cudaStreamBeginCapture(captured, cudaStreamCaptureModeThreadLocal));
    cudaStream_t first = captured_first ? captured : caller.stream;
    cudaStream_t second = captured_first ? caller.stream : captured;
    caller.note("a captured stream and another one",
                {ncclGroupStart(), on(first), on(second), ncclGroupEnd()});
    REQUIRE(cudaStreamEndCapture(captured, &graph));
    REQUIRE(cudaGraphDestroy(graph));
    caller.note("in step after it", {caller.in_step(caller.comm)});
  }
  REQUIRE(cudaStreamDestroy(captured));
}

}  // namespace

void wrong_groups(Caller& caller) {
  for (auto part : {ends, errors, captures}) part(caller);
}

}  // namespace programs
