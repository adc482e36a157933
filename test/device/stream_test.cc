// Order of streams and events.
#include <cuda_runtime_api.h>

#include <mutex>
#include <thread>
#include <vector>

#include "processes.h"

using namespace device_test;

namespace {

// Notes the order in which host functions ran.
struct Journal {
  std::mutex mutex;
  std::vector<int> entries;
  std::atomic<bool> open{false};

  void note(int entry) {
    const std::lock_guard lock(mutex);
    entries.push_back(entry);
  }
};
struct Entry {
  Journal* journal;
  int number;
};

void add(cudaStream_t stream, Journal& journal, int number) {
  CUDA_OK(cudaLaunchHostFunc(
      stream,
      [](void* entry) {
        auto* mine = static_cast<Entry*>(entry);
        mine->journal->note(mine->number);
        delete mine;
      },
      new Entry{&journal, number}));
}

// Keeps a stream busy until journal.open.
void hold(cudaStream_t stream, Journal& journal) {
  CUDA_OK(cudaLaunchHostFunc(
      stream, [](void* held) { eventually([&] { return static_cast<Journal*>(held)->open.load(); }); },
      &journal));
}

cudaStream_t make_stream(unsigned flags) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaSuccess, cudaStreamCreateWithFlags(&stream, flags));
  return stream;
}

using Numbers = std::vector<int>;

}  // namespace

TEST(Streams, OperationsRunInOrderAndCallsDoNotBlock) {
  on_machine("8-4+4", [] {
    Journal journal;
    const cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    hold(stream, journal);
    for (int i = 0; i < 100; ++i) add(stream, journal, i);
    EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(stream));
    EXPECT_TRUE(journal.entries.empty());
    journal.open = true;
    CUDA_OK(cudaStreamSynchronize(stream));
    ASSERT_EQ(100u, journal.entries.size());
    for (int i = 0; i < 100; ++i) EXPECT_EQ(i, journal.entries[i]);
    EXPECT_EQ(cudaSuccess, cudaStreamQuery(stream));
  });
}

TEST(Streams, StreamsDoNotWaitForEachOther) {
  on_machine("8-4+4", [] {
    Journal journal;
    const cudaStream_t held = make_stream(cudaStreamNonBlocking), free = make_stream(cudaStreamNonBlocking);
    hold(held, journal);
    add(free, journal, 1);
    CUDA_OK(cudaStreamSynchronize(free));
    EXPECT_EQ(Numbers{1}, journal.entries);
    journal.open = true;
    CUDA_OK(cudaDeviceSynchronize());
  });
}

TEST(Streams, LegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  on_machine("8-4+4", [] {
    Journal journal;
    const cudaStream_t first = make_stream(cudaStreamDefault), second = make_stream(cudaStreamDefault);
    const cudaStream_t apart = make_stream(cudaStreamNonBlocking);
    hold(first, journal);
    add(first, journal, 1);
    add(nullptr, journal, 2);
    add(second, journal, 3);
    add(cudaStreamPerThread, journal, 4);
    add(apart, journal, 0);
    CUDA_OK(cudaStreamSynchronize(apart));
    EXPECT_EQ(Numbers{0}, journal.entries);
    journal.open = true;
    CUDA_OK(cudaDeviceSynchronize());
    ASSERT_EQ(5u, journal.entries.size());
    EXPECT_EQ(1, journal.entries[1]);
    EXPECT_EQ(2, journal.entries[2]);
  });
}

TEST(Streams, LegacyStreamWaitsForADestroyedBlockingStream) {
  on_machine("8-4+4", [] {
    Journal journal;
    const cudaStream_t gone = make_stream(cudaStreamDefault);
    hold(gone, journal);
    add(gone, journal, 1);
    CUDA_OK(cudaStreamDestroy(gone));
    add(nullptr, journal, 2);
    journal.open = true;
    CUDA_OK(cudaStreamSynchronize(nullptr));
    EXPECT_EQ((Numbers{1, 2}), journal.entries);
  });
}

TEST(Streams, PerThreadStreamsAreApart) {
  on_machine("8-4+4", [] {
    Journal journal;
    unsigned long long mine = 0, theirs = 0;
    hold(cudaStreamPerThread, journal);
    CUDA_OK(cudaStreamGetId(cudaStreamPerThread, &mine));
    std::thread([&] {
      CUDA_OK(cudaStreamGetId(cudaStreamPerThread, &theirs));
      add(cudaStreamPerThread, journal, 1);
      CUDA_OK(cudaStreamSynchronize(cudaStreamPerThread));
    }).join();
    EXPECT_NE(mine, theirs);
    EXPECT_EQ(Numbers{1}, journal.entries);
    journal.open = true;
    CUDA_OK(cudaDeviceSynchronize());
  });
}

TEST(Streams, EventsOrderStreamsOfTwoDevices) {
  on_machine("8-4+4", [] {
    Journal journal;
    cudaEvent_t event;
    const cudaStream_t first = make_stream(cudaStreamNonBlocking);
    CUDA_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CUDA_OK(cudaSetDevice(3));
    const cudaStream_t second = make_stream(cudaStreamNonBlocking);
    hold(first, journal);
    add(first, journal, 1);
    CUDA_OK(cudaEventRecord(event, first));
    CUDA_OK(cudaStreamWaitEvent(second, event, 0));
    add(second, journal, 2);
    EXPECT_EQ(cudaErrorNotReady, cudaEventQuery(event));
    EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(second));
    CUDA_OK(cudaEventDestroy(event));  // the wait stays
    journal.open = true;
    CUDA_OK(cudaStreamSynchronize(second));
    EXPECT_EQ((Numbers{1, 2}), journal.entries);
  });
}

TEST(Streams, WaitIsForTheRecordThatWasLastWhenItWasCalled) {
  on_machine("8-4+4", [] {
    Journal journal;
    cudaEvent_t event;
    const cudaStream_t first = make_stream(cudaStreamNonBlocking),
                       second = make_stream(cudaStreamNonBlocking);
    CUDA_OK(cudaEventCreate(&event));
    CUDA_OK(cudaEventRecord(event, first));
    CUDA_OK(cudaStreamWaitEvent(second, event, 0));
    hold(first, journal);
    CUDA_OK(cudaEventRecord(event, first));
    CUDA_OK(cudaStreamSynchronize(second));
    EXPECT_EQ(cudaErrorNotReady, cudaEventQuery(event));
    journal.open = true;
    CUDA_OK(cudaEventSynchronize(event));
  });
}

TEST(Streams, ElapsedTimeIsThatOfTheWorkBetween) {
  on_machine("8-4+4", [] {
    cudaEvent_t start, end;
    const cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    CUDA_OK(cudaEventCreate(&start));
    CUDA_OK(cudaEventCreate(&end));
    CUDA_OK(cudaEventRecord(start, stream));
    CUDA_OK(cudaLaunchHostFunc(
        stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }, nullptr));
    CUDA_OK(cudaEventRecord(end, stream));
    CUDA_OK(cudaEventSynchronize(end));
    float milliseconds = 0;
    CUDA_OK(cudaEventElapsedTime(&milliseconds, start, end));
    EXPECT_GE(milliseconds, 20);
  });
}

TEST(Streams, DestroyedHandlesAreRefusedForEver) {
  on_machine("8-4+4", [] {
    cudaEvent_t event;
    const cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    CUDA_OK(cudaEventCreate(&event));
    CUDA_OK(cudaEventDestroy(event));
    CUDA_OK(cudaStreamDestroy(stream));
    for (int i = 0; i < 100; ++i) EXPECT_NE(stream, make_stream(cudaStreamNonBlocking));
    EXPECT_EQ(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
    EXPECT_EQ(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
    EXPECT_EQ(cudaErrorInvalidResourceHandle, cudaMemsetAsync(nullptr, 0, 0, stream));
    EXPECT_EQ(cudaErrorInvalidResourceHandle, cudaEventQuery(event));
    EXPECT_EQ(cudaErrorInvalidResourceHandle, cudaEventRecord(event, nullptr));
    EXPECT_EQ(cudaErrorInvalidResourceHandle, cudaEventDestroy(event));
  });
}

TEST(Streams, ManyThreadsManyStreams) {
  on_machine("8-4+4", [] {
    std::vector<std::thread> threads;
    std::atomic<int> ran{0};
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        CUDA_OK(cudaSetDevice(t));
        cudaEvent_t event;
        CUDA_OK(cudaEventCreate(&event));
        for (int i = 0; i < 25; ++i) {
          const cudaStream_t a = make_stream(cudaStreamNonBlocking), b = make_stream(cudaStreamDefault);
          const auto count = [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); };
          CUDA_OK(cudaLaunchHostFunc(a, count, &ran));
          CUDA_OK(cudaEventRecord(event, a));
          CUDA_OK(cudaStreamWaitEvent(b, event, 0));
          CUDA_OK(cudaLaunchHostFunc(b, count, &ran));
          CUDA_OK(cudaStreamDestroy(a));
          CUDA_OK(cudaStreamDestroy(b));
        }
        CUDA_OK(cudaDeviceSynchronize());
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(400, ran);
  });
}
