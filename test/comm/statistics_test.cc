// The summaries that users and tests of this project read.
#include "comm/statistics.h"

#include <gtest/gtest.h>

namespace nccl_slab::comm {
namespace {

std::shared_ptr<Statistics> sample() {
  auto statistics = std::make_shared<Statistics>(2, 4);
  statistics->slab.add(100);
  statistics->slab.add(20);
  statistics->by(tune::Algorithm::kIslands).add(100);
  statistics->by(tune::Algorithm::kFlatSmall).add(20);
  statistics->forward[static_cast<int>(Reason::datatype)].add(7);
  statistics->forward[static_cast<int>(Reason::empty)].add(0);
  return statistics;
}

TEST(Statistics, Json) {
  EXPECT_EQ(statistics_json({sample()}),
            "[\n {\"rank\": 2, \"nranks\": 4, \"slab\": {\"calls\": 2, \"bytes\": 120}, \"forward\": "
            "{\"datatype\": {\"calls\": 1, \"bytes\": 7}, \"empty\": {\"calls\": 1, \"bytes\": 0}}, "
            "\"algorithms\": {\"flat_small\": {\"calls\": 1, \"bytes\": 20}, \"islands\": {\"calls\": 1, "
            "\"bytes\": 100}}}\n]\n");
}

TEST(Statistics, JsonOfSeveralCommunicatorsInTheirOrder) {
  const std::string none = "\"slab\": {\"calls\": 0, \"bytes\": 0}, \"forward\": {}, \"algorithms\": {}}";
  EXPECT_EQ(
      statistics_json({std::make_shared<Statistics>(0, 2), std::make_shared<Statistics>(1, 3)}),
      "[\n {\"rank\": 0, \"nranks\": 2, " + none + ",\n {\"rank\": 1, \"nranks\": 3, " + none + "\n]\n");
  EXPECT_EQ(statistics_json({}), "[\n]\n");
}

TEST(Statistics, TextNamesEveryPathThatWasTaken) {
  EXPECT_EQ(statistics_text({sample(), std::make_shared<Statistics>(3, 4)}),
            "nccl-slab: rank 2 of 4: slab 2 calls, 120 bytes\n"
            "nccl-slab: rank 2 of 4: forwarded, datatype: 1 calls, 7 bytes\n"
            "nccl-slab: rank 2 of 4: forwarded, empty: 1 calls, 0 bytes\n");
}

TEST(Statistics, CountEveryAlgorithmUnderItsWord) {
  for (const tune::Algorithm algorithm : tune::kAllAlgorithms) {
    auto statistics = std::make_shared<Statistics>(0, 2);
    statistics->by(algorithm).add(5);
    const std::string counted =
        std::string("\"algorithms\": {\"") + tune::word(algorithm) + "\": {\"calls\": 1, \"bytes\": 5}}";
    EXPECT_NE(statistics_json({statistics}).find(counted), std::string::npos) << counted;
  }
}

}  // namespace
}  // namespace nccl_slab::comm
