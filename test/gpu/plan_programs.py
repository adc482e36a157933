"""Steps that run this project's NCCL programs, which check themselves and know nothing of the slab, on the libnccl
given with --nccl: plain, and with the slab over each transport."""

import pathlib
import re

import slab_statistics
from environment import Environment
from places import Places
from step import Check, Step

# With the reasons for which they have calls forwarded on purpose.
PROGRAMS = {
    "rank_suite": frozenset({"operation", "datatype", "unnamed"}),
    "reduce_scatter_table": frozenset(),
}
TRANSPORTS = ("peer", "host")
# Not `collectives`: a libnccl that was built to compare reduce-scatter may lack the others' kernels for some types.
CASES = ",".join(
    "shapes large empty in_place kinds_of_memory one_allocation forked_children operations average"
    " averages_of_large_numbers premulsum premulsum_in_stream_order captured_operations arguments"
    " same_bits skewed_calls graph_mixed graphs_on_two_streams graph_outlives_communicator first_in_capture"
    " graph_two_streams stream_kinds two_streams destroyed_streams groups large_group many_in_a_group group_error"
    " group_streams created_in_a_group created_by_threads created_at_the_second_try created_of_several_ids communicators"
    " mixed_communicators many_splits split split_no_colour one_rank shrink init_all"
    " non_blocking finalize destroy_behind_replay abort_waiting".split()
)
# NCCL 2.30.7 by itself hangs in the first of these where more than four ranks share a GPU.
OF_ALL_TYPES = {"operations", "average", "captured_operations", "arguments"}
FEWER_CASES = ",".join(case for case in CASES.split(",") if case not in OF_ALL_TYPES)
RARE_CASES = "grow,shrink_waiting,revoke_waiting"

BATCHED = "many_in_a_group,many_kinds_in_a_group,group_behind_other_work,many_kinds_in_a_graph,overlapping_in_a_group"


def own_programs(places: Places, environment: Environment, ranks: tuple[int, ...]) -> list[Step]:
    """Ranks all on one GPU, or one on each, and then once as threads of one process."""
    one_gpu = environment.devices == 1
    options = ["--same-device"] if one_gpu else []
    fitting = [count for count in ranks if one_gpu or count <= environment.devices]
    steps = []
    for name in PROGRAMS:
        for count in fitting:
            steps += _program(places, environment, name, count, options)
    # On one GPU any cudaFree of one rank waits for the kernel of another, which waits for the first.
    return steps if one_gpu else steps + _program(places, environment, "rank_suite", fitting[-1], ["--threads"])


def _program(
    places: Places, environment: Environment, name: str, ranks: int, options: list[str]
) -> list[Step]:
    program = places.built(name)
    missing = places.missing_for_nccl(program, name)
    chosen = FEWER_CASES if "--same-device" in options and ranks > 4 else CASES
    cases = ["--case", chosen] if name == "rank_suite" else []
    command = [str(program), "--ranks", str(ranks), "--limit", "80", *options, *cases]
    plain = environment.given_nccl(ranks)
    label = f"programs/{name} n={ranks}" + (" threads" if "--threads" in options else "")
    steps = [Step(f"{label} plain", command, 90, plain, missing=missing)]
    for transport in TRANSPORTS:
        slab = plain | environment.preload(places.preload(), transport)
        steps.append(Step(f"{label} slab {transport}", command, 90, slab, _taken(name, transport), missing))
    return steps


def unusual_launches(places: Places, environment: Environment) -> list[Step]:
    """Kernels that would be loaded when first launched, while another one waits; launches that end with their kernel; and
    one launch for many calls."""
    program = places.built("rank_suite")
    missing = places.missing_for_nccl(program, "rank_suite")
    options = ["--same-device"] if environment.devices == 1 else []
    slab = environment.given_nccl(2) | environment.preload(places.preload(), TRANSPORTS[0])
    found = []
    for name, cases, variable in (
        ("loaded lazily", "first_use_while_waiting", {"CUDA_MODULE_LOADING": "LAZY"}),
        ("launched together", BATCHED, {}),
        ("launched blocking", "shapes,in_place,average,same_bits", {"CUDA_LAUNCH_BLOCKING": "1"}),
    ):
        command = [str(program), "--ranks", "2", "--limit", "50", *options, "--case", cases]
        check = _taken("rank_suite", TRANSPORTS[0])
        found.append(Step(f"programs/rank_suite {name}", command, 60, slab | variable, check, missing))
    return found


def on_request(places: Places, environment: Environment) -> list[Step]:
    """Cases that run only where they are named: more than 2^31 elements, and what NCCL leaves undefined."""
    program = places.built("rank_suite")
    missing = places.missing_for_nccl(program, "rank_suite")
    options = ["--same-device"] if environment.devices == 1 else []
    found = []
    for case in ("huge", "other_overlaps"):
        for transport in TRANSPORTS:
            slab = environment.given_nccl(2) | environment.preload(places.preload(), transport)
            command = [str(program), "--ranks", "2", "--limit", "80", *options, "--case", case]
            check = _taken("rank_suite", transport)
            found.append(Step(f"programs/rank_suite {case} {transport}", command, 90, slab, check, missing))
    return found


def rare_cases(places: Places, environment: Environment) -> list[Step]:
    """Apart from the others, because not every NCCL gets through them where ranks share a GPU: plain shows that."""
    ranks = 3 if environment.devices == 1 else min(4, environment.devices)
    program = places.built("rank_suite")
    missing = places.missing_for_nccl(program, "rank_suite") or ("" if ranks > 2 else "they need three ranks")
    options = ["--same-device"] if environment.devices == 1 else []
    command = [str(program), "--ranks", str(ranks), "--limit", "50", *options, "--case", RARE_CASES]
    plain = environment.given_nccl(ranks)
    slab, check = plain | environment.preload(places.preload(), TRANSPORTS[0]), _taken("rank_suite", TRANSPORTS[0])
    return [
        Step("programs/rank_suite rare plain", command, 60, plain, None, missing),
        Step("programs/rank_suite rare slab", command, 60, slab, check, missing),
    ]


def started_by_the_tool(places: Places, environment: Environment) -> list[Step]:
    """`nccl-slab run` sets the preload and everything else itself."""
    program, tool = places.built("rank_suite"), places.tool()
    missing = places.missing_for_nccl(program, "rank_suite") or ("" if tool else "bin/nccl-slab is not installed")
    options = ["--same-device"] if environment.devices == 1 else []
    command = [str(tool), "run", "--", str(program), "--ranks", "2", "--limit", "50", *options]
    slab = environment.given_nccl(2) | environment.preload(places.preload(), TRANSPORTS[0])
    del slab["LD_PRELOAD"]
    check = _taken("rank_suite", TRANSPORTS[0])
    return [Step("programs/rank_suite by nccl-slab run", [*command, "--case", "shapes,groups"], 60, slab, check, missing)]


def _taken(name: str, transport: str) -> Check:
    def check(folder: pathlib.Path, _: str) -> list[str]:
        forwarded = slab_statistics.complaints(folder, 1, PROGRAMS[name])
        return forwarded + slab_statistics.mailbox_complaints(folder, transport)

    return check


def wrong_calls(places: Places, environment: Environment) -> list[Step]:
    """What wrong calls return, plain and with the slab: the same lines, also of rows that NCCL does not survive."""
    program = places.built("wrong_calls")
    missing = places.missing_for_nccl(program, "wrong_calls")
    options = ["--same-device"] if environment.devices == 1 else []
    plain, slab = environment.given_nccl(2), environment.preload(places.preload())
    steps = []
    for name, more, variables in (
        ("", [], {}),
        (" checked", [], {"NCCL_CHECK_POINTERS": "1"}),
        (" rare", ["--rare"], {}),
    ):
        command = [str(program), "--ranks", "2", "--limit", "100", *options, *more]
        given, label = plain | variables, f"programs/wrong_calls{name}"
        before = Step(f"{label} plain", command, 110, given, _in_step, missing)
        steps += [before, Step(f"{label} slab", command, 110, given | slab, _same_answers(before), missing)]
    return steps


def _answers(log: str) -> list[str]:
    return sorted(line for line in log.splitlines() if re.match(r"\d+ .*: ([-\d ]+|died of signal \d+)$", line))


def _in_step(_: pathlib.Path, log: str) -> list[str]:
    answers = _answers(log)
    wrong = [line for line in answers if " in step" in line and set(line.split(": ")[1].split()) != {"0"}]
    return wrong[:5] if answers else ["no answers"]


def _same_answers(before: Step) -> Check:
    def check(folder: pathlib.Path, log: str) -> list[str]:
        plain = set(_answers((folder.parent / f"{before.folder}.log").read_text(errors="replace")))
        differ = [f"{line} ({'plain' if line in plain else 'slab'})" for line in plain ^ set(_answers(log))]
        allowed = frozenset({"datatype", "operation", "ended"})
        return sorted(differ)[:8] + _in_step(folder, log) + slab_statistics.complaints(folder, 10, allowed)

    return check


def default_verdict(places: Places, environment: Environment, ranks: int = 2) -> list[Step]:
    """Without NCCL_SLAB_FORCE the slab keeps out of the way of NVLink, and of ranks that share a GPU."""
    program = places.built("reduce_scatter_bench")
    missing = places.missing_for_nccl(program, "reduce_scatter_bench")
    reason = "same_gpu" if environment.devices == 1 else "nvlink"
    if places.emulated and environment.devices > 1:
        missing = "no NVLink on the emulated machine"
    variables = environment.given_nccl(ranks) | environment.preload(places.preload()) | {"NCCL_SLAB_FORCE": "0"}
    options = f"--ranks {ranks} --devices {environment.devices} --sizes 64K --repeats 1"

    def check(folder: pathlib.Path, _: str) -> list[str]:
        return slab_statistics.forwarded_only(folder, reason)

    command = [str(program), *options.split()]
    return [Step(f"programs/default n={ranks} forwards {reason}", command, 60, variables, check, missing)]
