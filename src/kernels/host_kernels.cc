#include "kernels/host_kernels.h"

#include "kernels/dispatch.h"
#include "kernels/flat_push.h"
#include "kernels/flat_small.h"
#include "kernels/host_block.h"
#include "kernels/islands_push.h"
#include "kernels/islands_small.h"
#include "kernels/transfer.h"
#include "kernels/tree.h"

namespace nccl_slab::kernels {
namespace {

template <typename Element, bool kScaled>
void run_block(Kernel kernel, const Arguments& a, unsigned block, unsigned blocks) {
  HostBlock host(a);
  const Place place =
      has_channels(kernel) ? place_of_block(static_cast<int>(block), a.channels, a.roles) : Place{};
  switch (kernel) {
    case Kernel::kTree:
      return TreeRole<HostBlock, Element, kScaled>(host, a, place.channel, place.role).run();
    case Kernel::kFlatSmall:
      return dispatch_ranks(a.layout.ranks, [&](auto ranks) {
        FlatSmall<HostBlock, Element, kScaled, decltype(ranks)::value>(host, a, block, blocks).run();
      });
    case Kernel::kFlatPush:
      return FlatPush<HostBlock, Element, kScaled>(host, a, place.channel).run(place.role);
    case Kernel::kIslandsSmall:
      return dispatch_members(a.islands.members, [&](auto members) {
        IslandsSmall<HostBlock, Element, kScaled, decltype(members)::value>(host, a, block, blocks).run();
      });
    case Kernel::kIslandsPush:
      return IslandsPush<HostBlock, Element, kScaled>(host, a, place.channel).run(place.role);
    case Kernel::kTransfer:
      return Transfer<HostBlock>(host, a, static_cast<int>(block), static_cast<int>(blocks)).run();
  }
}

}  // namespace

void run_host_block(Kernel kernel, const Arguments& a, unsigned block, unsigned blocks) {
  dispatch(a.type, a.scaling, [&](auto element, auto scaled) {
    run_block<decltype(element), decltype(scaled)::value>(kernel, a, block, blocks);
  });
}

void run_host_batch_block(const BatchArguments& batch, unsigned block) {
  const Arguments& a = batch.arguments;
  dispatch(a.type, a.scaling, [&](auto element, auto scaled) {
    HostBlock host(a);
    FlatPush<HostBlock, decltype(element), decltype(scaled)::value, BatchPieces>(
        host, a, static_cast<int>(block), BatchPieces(a, batch.batch))
        .run(0);
  });
}

unsigned host_blocks(Kernel kernel, const Arguments& a, int units) {
  return static_cast<unsigned>(has_channels(kernel) ? units * a.roles : units);
}

}  // namespace nccl_slab::kernels
