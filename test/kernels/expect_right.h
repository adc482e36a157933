// What every run of right kernels must yield.
#pragma once

#include <gtest/gtest.h>

#include "kernels/rank_threads.h"

namespace nccl_slab::kernels {

inline void expect_right(const std::vector<RankThreads::Result>& results) {
  for (std::size_t k = 0; k < results.size(); ++k) {
    EXPECT_TRUE(results[k].finished) << "call " << k;
    EXPECT_TRUE(results[k].exact) << "call " << k;
    EXPECT_TRUE(results[k].untouched) << "call " << k;
  }
}

}  // namespace nccl_slab::kernels
