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
void run_tree(const Arguments& a, unsigned block) {
  HostBlock host(a);
  const Place place = place_of_block(static_cast<int>(block), a.channels, a.roles);
  TreeRole<HostBlock, Element, kScaled>(host, a, place.channel, place.role).run();
}

template <typename Element, bool kScaled>
void run_flat_push(const Arguments& a, unsigned block) {
  HostBlock host(a);
  const Place place = place_of_block(static_cast<int>(block), a.channels, a.roles);
  FlatPush<HostBlock, Element, kScaled>(host, a, place.channel).run(place.role);
}

template <typename Element, bool kScaled>
void run_flat_push_batch(const BatchArguments& b, unsigned block) {
  const Arguments& a = b.arguments;
  HostBlock host(a);
  FlatPush<HostBlock, Element, kScaled, BatchPieces>(host, a, static_cast<int>(block),
                                                     BatchPieces(a, b.batch))
      .run(0);
}

template <typename Element, bool kScaled>
void run_flat_small(const Arguments& a, unsigned block, unsigned blocks) {
  HostBlock host(a);
  dispatch_ranks(a.layout.ranks, [&](auto ranks) {
    FlatSmall<HostBlock, Element, kScaled, ranks.value>(host, a, block, blocks).run();
  });
}

template <typename Element, bool kScaled>
void run_islands_push(const Arguments& a, unsigned block) {
  HostBlock host(a);
  const Place place = place_of_block(static_cast<int>(block), a.channels, a.roles);
  IslandsPush<HostBlock, Element, kScaled>(host, a, place.channel).run(place.role);
}

template <typename Element, bool kScaled>
void run_islands_small(const Arguments& a, unsigned block, unsigned blocks) {
  HostBlock host(a);
  dispatch_members(a.islands.members, [&](auto members) {
    IslandsSmall<HostBlock, Element, kScaled, members.value>(host, a, block, blocks).run();
  });
}

void run_transfer(const Arguments& a, unsigned block, unsigned blocks) {
  HostBlock host(a);
  Transfer<HostBlock>(host, a, static_cast<int>(block), static_cast<int>(blocks)).run();
}

}  // namespace

void run_host_block(Kernel kernel, const Arguments& a, unsigned block, unsigned blocks) {
  dispatch(a.type, a.scaling, [&](auto element, auto scaled) {
    using Element = decltype(element);
    switch (kernel) {
      case Kernel::kTree:
        return run_tree<Element, scaled.value>(a, block);
      case Kernel::kFlatSmall:
        return run_flat_small<Element, scaled.value>(a, block, blocks);
      case Kernel::kFlatPush:
        return run_flat_push<Element, scaled.value>(a, block);
      case Kernel::kIslandsSmall:
        return run_islands_small<Element, scaled.value>(a, block, blocks);
      case Kernel::kIslandsPush:
        return run_islands_push<Element, scaled.value>(a, block);
      case Kernel::kTransfer:
        return run_transfer(a, block, blocks);
    }
  });
}

void run_host_batch_block(const BatchArguments& batch, unsigned block) {
  dispatch(batch.arguments.type, batch.arguments.scaling, [&](auto element, auto scaled) {
    run_flat_push_batch<decltype(element), scaled.value>(batch, block);
  });
}

unsigned host_blocks(Kernel kernel, const Arguments& a, int units) {
  return static_cast<unsigned>(has_channels(kernel) ? units * a.roles : units);
}

}  // namespace nccl_slab::kernels
