// How a test steers the stand-in for the engine that is linked into the libraries under test. The functions
// are exported by them and looked up by name, since the test is linked to NCCL alone.
#pragma once

#pragma GCC visibility push(default)
extern "C" {
// The events since the last call, each ended by ';'.
const char* nccl_slab_fake_take_log();
// A nccl_slab::Reason; 0 lets the slab serve.
void nccl_slab_fake_verdict(int reason);
// Whether new communicators are settled when they begin.
void nccl_slab_fake_settles(int at_once);
void nccl_slab_fake_settle_all();
// Whether every step of the engine throws.
void nccl_slab_fake_throws(int on);
// ncclResult_t.
void nccl_slab_fake_async_error(int error);
void nccl_slab_fake_launch_answer(int answer);
}
#pragma GCC visibility pop
