// Safeguards: the steps of the protocol that a negative control leaves out. Each is on in every product; a
// test compiles the kernels with one of the macros and must then see damage
// (test/kernels/safeguards_test.cc).
#pragma once

namespace nccl_slab::kernels {

#ifdef NCCL_SLAB_WITHOUT_RELEASE
inline constexpr bool kPublishReleases = false;
#else
inline constexpr bool kPublishReleases = true;  // payload is visible before the flag that announces it
#endif

#ifdef NCCL_SLAB_WITHOUT_ACKNOWLEDGEMENT
inline constexpr bool kSenderWaitsForAcknowledgement = false;
#else
inline constexpr bool kSenderWaitsForAcknowledgement =
    true;  // no slot is written before its last content was read
#endif

#ifdef NCCL_SLAB_SENDERS_FIRST
inline constexpr bool kChannelsAreWhole = false;
#else
inline constexpr bool kChannelsAreWhole =
    true;  // block = channel * roles + role: any resident prefix makes progress
#endif

#ifdef NCCL_SLAB_WITHOUT_CLEANING
inline constexpr bool kSmallMailboxesAreCleaned = false;
#else
inline constexpr bool kSmallMailboxesAreCleaned =
    true;  // no word keeps a flag value until that value comes round again
#endif

#ifdef NCCL_SLAB_WITHOUT_PARITY
inline constexpr bool kMailboxesAlternate = false;
#else
inline constexpr bool kMailboxesAlternate = true;  // a call writes where the call before last was read
#endif

#ifdef NCCL_SLAB_WITHOUT_FLAG_PARITY
inline constexpr bool kFlagsAlternate = false;
#else
inline constexpr bool kFlagsAlternate = true;      // the next call's flag, of another writer, is not this one's
#endif

}  // namespace nccl_slab::kernels
