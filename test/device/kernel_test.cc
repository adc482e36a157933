// Kernels and block slots.
#include "kernels.h"

#include <thread>
#include <vector>

using namespace device_test;

namespace {

struct Board {
  std::atomic<int> started{0}, ended{0}, abort{0}, open{0}, most{0};
  std::atomic<int> order[256];  // the n-th block to start was block order[n]
};

void note_start(const nccl_slab_emulated_block* block, Board& board) {
  const int turn = board.started.fetch_add(1);
  if (turn < 256) board.order[turn] = static_cast<int>(block->block);
}

void wait_until_open(Board& board) {
  while (board.open == 0 && board.abort == 0) nccl_slab_emulated_yield();
}

void note_only(const nccl_slab_emulated_block* block, const void* argument) {
  Board& board = **static_cast<Board* const*>(argument);
  note_start(block, board);
  ++board.ended;
}

void note_and_wait(const nccl_slab_emulated_block* block, const void* argument) {
  Board& board = **static_cast<Board* const*>(argument);
  note_start(block, board);
  wait_until_open(board);
  ++board.ended;
}

// Every block waits until all have started: needs as many slots.
void meet(const nccl_slab_emulated_block* block, const void* argument) {
  Board& board = **static_cast<Board* const*>(argument);
  note_start(block, board);
  while (board.started < static_cast<int>(block->blocks) && board.abort == 0) nccl_slab_emulated_yield();
  ++board.ended;
}

struct Fill {
  int* destination;
  int value;
  alignas(64) char tail[200];
};
void fill(const nccl_slab_emulated_block* block, const void* argument) {
  const Fill& what = *static_cast<const Fill*>(argument);
  const int value = what.value + static_cast<int>(block->block) + what.tail[199] * 1000;
  nccl_slab_emulated_store(what.destination + block->block, &value, sizeof value);
}

}  // namespace

TEST(Kernels, ArgumentIsCopiedAtTheLaunch) {
  on_machine("8-4+4", [] {
    int* memory;
    int back[4];
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&memory), 4096));
    Board* board = pinned<Board>();
    const cudaStream_t stream = new_stream();
    launch(note_and_wait, 1, board, stream);
    Fill what{memory, 7, {}};
    what.tail[199] = 1;
    launch(fill, 4, what, stream);
    what.value = 99;
    board->open = 1;
    CUDA_OK(cudaStreamSynchronize(stream));
    CUDA_OK(cudaMemcpy(back, memory, sizeof back, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(1007 + i, back[i]);
  });
}

TEST(Kernels, GridsOfThreeDimensionsAndBadOnes) {
  on_machine("8-4+4", [] {
    Board* board = pinned<Board>();
    const auto function = reinterpret_cast<const void*>(&note_only);
    CUDA_OK(nccl_slab_emulated_register(function, "note", note_only, sizeof board));
    void* arguments[] = {&board};
    CUDA_OK(cudaLaunchKernel(function, dim3(2, 3, 4), dim3(8, 8), arguments, 0, nullptr));
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(24, board->ended);
    EXPECT_EQ(cudaErrorInvalidConfiguration,
              cudaLaunchKernel(function, dim3(0), dim3(1), arguments, 0, nullptr));
    EXPECT_EQ(cudaErrorInvalidConfiguration,
              cudaLaunchKernel(function, dim3(1), dim3(1025), arguments, 0, nullptr));
    EXPECT_EQ(cudaErrorInvalidValue, cudaLaunchKernel(function, dim3(1), dim3(1), nullptr, 0, nullptr));
    const cudaStream_t elsewhere = new_stream();
    CUDA_OK(cudaSetDevice(1));
    EXPECT_EQ(cudaErrorInvalidResourceHandle,
              cudaLaunchKernel(function, dim3(1), dim3(1), arguments, 0, elsewhere));
  });
}

TEST(Kernels, BlocksTakeSlotsInTheOrderOfTheirIndex) {
  on_machine("8-4+4", [] {
    Board *busy = pinned<Board>(), *board = pinned<Board>();
    launch(note_and_wait, 15, busy, new_stream());  // leaves one slot
    launch(note_only, 40, board, new_stream());
    ASSERT_TRUE(eventually([&] { return board->ended == 40; }));
    for (int i = 0; i < 40; ++i) EXPECT_EQ(i, board->order[i]);
    busy->open = 1;
    CUDA_OK(cudaDeviceSynchronize());
  });
}

TEST(Kernels, SlotsAreLimitedAndHeldUntilTheBlockReturns) {
  on_machine("8-4+4", [] {
    Board *first = pinned<Board>(), *second = pinned<Board>();
    launch(note_and_wait, 20, first, new_stream());
    launch(note_only, 1, second, new_stream());
    ASSERT_TRUE(eventually([&] { return first->started == 16; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(16, first->started) << "the machine has 16 slots";
    EXPECT_EQ(0, second->started) << "a later kernel does not overtake";
    CUDA_OK(cudaSetDevice(1));
    Board* other = pinned<Board>();
    launch(note_only, 1, other, new_stream());
    CUDA_OK(cudaDeviceSynchronize());  // another device has its own
    EXPECT_EQ(1, other->ended);
    first->open = 1;
    CUDA_OK(cudaSetDevice(0));
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(20, first->ended);
    EXPECT_EQ(1, second->ended);
  });
}

TEST(Kernels, BlocksThatWaitForALaterKernelStarveWithTooFewSlots) {
  on_machine("8-4+4", [] {
    Board *waiting = pinned<Board>(), *board = pinned<Board>();
    launch(note_and_wait, 16, waiting, new_stream());
    launch(note_only, 1, board, new_stream());  // would open the gate if it could start
    ASSERT_TRUE(eventually([&] { return waiting->started == 16; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(0, board->started);
    EXPECT_EQ(0, waiting->ended);
    waiting->abort = 1;
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(1, board->ended);
  });
}

TEST(Kernels, MutuallyWaitingBlocksNeedEnoughSlots) {
  on_machine("8-4+4", [] {
    Board *fits = pinned<Board>(), *does_not = pinned<Board>();
    launch(meet, 16, fits, new_stream());
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(16, fits->ended);
    launch(meet, 17, does_not, new_stream());
    ASSERT_TRUE(eventually([&] { return does_not->started == 16; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(0, does_not->ended);
    does_not->abort = 1;
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(17, does_not->ended);
  });
}

TEST(Kernels, CooperativeLaunchesStartWhole) {
  on_machine("8-4+4", [] {
    Board *busy = pinned<Board>(), *board = pinned<Board>();
    launch(note_and_wait, 10, busy, new_stream());
    const auto function = reinterpret_cast<const void*>(&meet);
    CUDA_OK(nccl_slab_emulated_register(function, "meet", meet, sizeof board));
    void* arguments[] = {&board};
    EXPECT_EQ(cudaErrorCooperativeLaunchTooLarge,
              cudaLaunchCooperativeKernel(function, dim3(17), dim3(1), arguments, 0, new_stream()));
    CUDA_OK(cudaLaunchCooperativeKernel(function, dim3(8), dim3(1), arguments, 0, new_stream()));
    ASSERT_TRUE(eventually([&] { return busy->started == 10; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(0, board->started) << "six free slots are not enough for eight blocks";
    busy->open = 1;
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(8, board->ended);
  });
}

TEST(Kernels, HigherPriorityStartsFirst) {
  on_machine("8-4+4", [] {
    Board *busy = pinned<Board>(), *low = pinned<Board>(), *high = pinned<Board>();
    launch(note_and_wait, 16, busy, new_stream());
    ASSERT_TRUE(eventually([&] { return busy->started == 16; }));
    launch(note_and_wait, 16, low, new_stream(0));
    launch(note_and_wait, 16, high, new_stream(-5));
    busy->open = 1;
    ASSERT_TRUE(eventually([&] { return high->started == 16; }));
    EXPECT_EQ(0, low->started);
    high->open = low->open = 1;
    CUDA_OK(cudaDeviceSynchronize());
  });
}

TEST(Kernels, StoreToAPeerWithoutAccessBreaksTheDevice) {
  on_machine("8-4+4", [] {
    int *mine, *theirs;
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&mine), 4096));
    CUDA_OK(cudaSetDevice(1));
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&theirs), 4096));
    CUDA_OK(cudaSetDevice(0));
    CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
    launch(fill, 4, Fill{theirs, 5, {}}, nullptr);
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaSetDevice(1));
    launch(fill, 4, Fill{mine, 5, {}}, nullptr);
    EXPECT_EQ(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    void* memory;
    EXPECT_EQ(cudaErrorIllegalAddress, cudaMalloc(&memory, 64)) << "the error stays";
  });
}

TEST(Kernels, LaunchBlockingWaitsForTheKernel) {
  on_machine("8-4+4", [] {
    setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    for (int i = 1; i <= 20; ++i) {
      static Board* board = pinned<Board>();
      launch(note_only, 8, board, new_stream());
      ASSERT_EQ(8 * i, board->ended);
    }
  });
}

TEST(Kernels, FunctionsAnswerAboutThemselves) {
  on_machine("8-4+4", [] {
    const auto function = reinterpret_cast<const void*>(&note_only);
    cudaFuncAttributes attributes;
    int blocks = 0, multiprocessors = 0;
    CUDA_OK(nccl_slab_emulated_register(function, "note", note_only, 8));
    CUDA_OK(cudaFuncGetAttributes(&attributes, function));
    EXPECT_EQ(1024, attributes.maxThreadsPerBlock);
    CUDA_OK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 15));
#if CUDART_VERSION >= 12030
    const char* name = nullptr;
    CUDA_OK(cudaFuncGetName(&name, function));
    EXPECT_STREQ("note", name);
#endif
    CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
    CUDA_OK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    EXPECT_EQ(16, blocks * multiprocessors);
  });
}

TEST(Kernels, EightRanksOfSpinningBlocksGetOn) {
  struct Round {
    Shared* shared;
    int ranks, rounds;
  };
  on_ranks({}, 8, [](int, Shared& shared) {
    const auto body = [](const nccl_slab_emulated_block*, const void* argument) {
      const Round& round = *static_cast<const Round*>(argument);
      for (int i = 0; i < round.rounds; ++i) {
        const int turn = round.shared->stage.fetch_add(1) / (round.ranks * 4);
        while (round.shared->stage < (turn + 1) * round.ranks * 4) nccl_slab_emulated_yield();
      }
    };
    launch(body, 4, Round{&shared, 8, 50}, new_stream());
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(50 * 8 * 4, shared.stage);
  });
}
