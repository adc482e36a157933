// Rows of wrong_calls: groups, what is wrong in them, and what is wrong with them.
#include "wrong_calls.h"

namespace programs {
namespace {

constexpr int kNoType = 99;

void ends(Caller& caller) {
  caller.row("end of no group", [&]() -> Results { return {ncclGroupEnd(), ncclGroupSimulateEnd(nullptr)}; });
  caller.row("an empty group", [&]() -> Results {
    return {ncclGroupStart(), ncclGroupEnd(), ncclGroupEnd()};
  });
  caller.row("nested empty groups", [&]() -> Results {
    return {ncclGroupStart(), ncclGroupStart(), ncclGroupEnd(), ncclGroupEnd()};
  });
  ncclSimInfo_t wrong{};
  caller.row("simulated end to a wrong structure", [&]() -> Results {
    return {ncclGroupStart(), ncclGroupSimulateEnd(&wrong), ncclGroupEnd()};
  });
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  caller.row("simulated end", [&]() -> Results {
    return {ncclGroupStart(), caller.reduce_scatter(caller.comm), ncclGroupSimulateEnd(&info),
            ncclGroupEnd()};
  });
  caller.row("simulated end of a failed group", [&]() -> Results {
    return {ncclGroupStart(), caller.reduce_scatter(caller.comm, 8, kNoType), ncclGroupSimulateEnd(&info)};
  });
  caller.row("nested simulated end", [&]() -> Results {
    return {ncclGroupStart(), ncclGroupStart(), caller.reduce_scatter(caller.comm),
            ncclGroupSimulateEnd(&wrong), ncclGroupSimulateEnd(&info)};
  });
}

void errors(Caller& caller) {
  ncclComm_t newcomm = nullptr;
  caller.row("wrong, then right", [&]() -> Results {
    return {ncclGroupStart(), caller.reduce_scatter(caller.comm, 8, kNoType),
            caller.reduce_scatter(caller.comm), ncclGroupEnd(), ncclGroupEnd()};
  });
  caller.row("right, then wrong", [&]() -> Results {
    return {ncclGroupStart(), caller.reduce_scatter(caller.comm), caller.reduce_scatter(nullptr),
            ncclGroupEnd()};
  });
  caller.row("wrong in an inner group", [&]() -> Results {
    return {ncclGroupStart(), caller.reduce_scatter(caller.comm),
            ncclGroupStart(), caller.reduce_scatter(caller.comm, 8, ncclFloat32, -1),
            ncclGroupEnd(),   ncclGroupEnd()};
  });
  caller.row("a wrong creator in a group", [&]() -> Results {
    return {ncclGroupStart(), caller.reduce_scatter(caller.comm),
            ncclCommInitRankConfig(&newcomm, 0, ncclUniqueId{}, 0, nullptr), ncclGroupEnd()};
  });
  caller.row("in step after errors", [&]() -> Results { return {caller.in_step(caller.comm)}; });
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
    caller.row("a captured stream and another one", [&]() -> Results {
      return {ncclGroupStart(), on(first), on(second), ncclGroupEnd()};
    });
    REQUIRE(cudaStreamEndCapture(captured, &graph));
    REQUIRE(cudaGraphDestroy(graph));
    caller.row("in step after it", [&]() -> Results { return {caller.in_step(caller.comm)}; });
  }
  REQUIRE(cudaStreamDestroy(captured));
}

}  // namespace

void wrong_groups(Caller& caller) {
  for (auto part : {ends, errors, captures}) part(caller);
}

}  // namespace programs
