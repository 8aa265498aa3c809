"""Who is read next and how much of it: no engine, an invented clock and an invented cost of a token."""

from __future__ import annotations

from codex.engine.openvino import wire
from codex.engine.openvino.lineup import IDLE_BUDGET_FACTOR, Lineup, Plan
from codex.engine.openvino.pacing import Pace

BLOCK = 32
TOKEN_MS = 1.0
BUDGET_MS = 128.0


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def lineup(*, max_num_seqs: int = 8, kv_blocks: int = 10_000, clock: Clock | None = None) -> Lineup:
    return Lineup(
        max_num_seqs=max_num_seqs,
        step_budget_ms=BUDGET_MS,
        kv_blocks=kv_blocks,
        block=BLOCK,
        clock=clock or Clock(),
        pace=Pace(token_ms=TOKEN_MS),
    )


def submit(id_: int, length: int, *, max_tokens: int = 8, first: int | None = None) -> wire.Submit:
    start = id_ * 100_000 if first is None else first
    tokens = wire.pack_tokens(range(start, start + length))
    return wire.Submit(id_, tokens, max_tokens, 0.0, 1.0, 0, 0.0, 0.0, 1.0, 0, False, ())


def step(line: Lineup, clock: Clock | None = None) -> Plan:
    """Plans a step and has it done, as long as the invented costs say."""
    plan = line.plan()
    for portion in plan.portions:
        line.begun(portion)
    if clock:
        clock.now += plan.prefill_tokens * TOKEN_MS / 1000
    for portion in plan.portions:
        line.read(portion.sequence, portion.end)
    return plan


def read(plan: Plan) -> list[tuple[int, int]]:
    return [(portion.sequence.id, portion.tokens) for portion in plan.portions]


def test_a_prompt_alone_gets_a_larger_budget_and_ends_with_what_is_left() -> None:
    line = lineup()
    line.add(submit(1, 600))
    portion = int(BUDGET_MS * IDLE_BUDGET_FACTOR)
    assert [read(step(line)) for _ in range(3)] == [[(1, portion)], [(1, portion)], [(1, 600 - 2 * portion)]]
    assert read(step(line)) == []


def test_no_step_is_longer_than_the_budget_when_someone_else_is_there() -> None:
    line = lineup()
    line.add(submit(1, 1000))
    line.add(submit(2, 1000))
    plans = [step(line) for _ in range(10)]
    assert all(plan.prefill_tokens * TOKEN_MS <= BUDGET_MS for plan in plans)
    assert all(plan.prefill_tokens for plan in plans)


def test_decoding_sequences_leave_less_of_the_budget_but_at_least_a_block() -> None:
    line = lineup()
    line.add(submit(1, 20))
    step(line)
    line.pace.observe(64.0, decoding=1, prefill_tokens=0, depth=0)
    line.add(submit(2, 1000))
    assert read(step(line)) == [(2, 64)]
    line.pace.observe(10_000.0, decoding=1, prefill_tokens=0, depth=0)
    line.pace.observe(10_000.0, decoding=1, prefill_tokens=0, depth=0)
    assert read(step(line)) == [(2, BLOCK)]


def test_portions_shrink_where_tokens_are_dearer() -> None:
    line = lineup()
    line.add(submit(1, 10_000))
    line.add(submit(2, 10_000))
    shallow = step(line).prefill_tokens
    line.pace.observe(400.0, decoding=0, prefill_tokens=100, depth=5000)
    line.pace.observe(100.0, decoding=0, prefill_tokens=100, depth=0)
    while (plan := step(line)).depth < 5000:
        assert plan.prefill_tokens
    assert plan.prefill_tokens == shallow // 4


def test_short_prompts_overtake_long_ones_and_share_a_step() -> None:
    clock = Clock()
    line = lineup(clock=clock)
    line.add(submit(1, 5000))
    step(line, clock)
    line.add(submit(2, 40))
    line.add(submit(3, 40))
    clock.now += 0.05
    assert [id_ for id_, _ in read(step(line, clock))][:2] == [2, 3]


def test_a_long_prompt_is_not_starved_by_a_stream_of_short_ones() -> None:
    clock = Clock()
    line = lineup(max_num_seqs=1000, clock=clock)
    line.add(submit(1, 2000))
    number = 2
    for _ in range(400):
        for _ in range(4):  # as many as a step holds, so that nothing would ever be left for the long one
            line.add(submit(number, 32))
            number += 1
        if any(portion.sequence.id == 1 and portion.last for portion in step(line, clock).portions):
            return
    raise AssertionError("the long prompt was never read to its end")


def test_portions_end_with_whole_blocks() -> None:
    line = lineup()
    line.pace = Pace(token_ms=1.7)
    line.add(submit(1, 1001))
    line.add(submit(2, 1003))
    portions = [portion for _ in range(40) for portion in step(line).portions]
    assert {portion.end % BLOCK for portion in portions if not portion.last} == {0}
    assert sum(portion.tokens for portion in portions) == 2004


def test_what_the_cache_holds_is_not_read_again() -> None:
    line = lineup()
    line.add(submit(1, 200, first=0))
    step(line)
    line.gained(wire.Piece(1, [7, 7], [], "stop"))
    line.add(submit(2, 300, first=0))
    assert read(step(line)) == [(2, 300 - 200 // BLOCK * BLOCK)]


def test_a_finished_answer_is_part_of_the_cache_for_the_next_turn() -> None:
    line = lineup()
    line.add(submit(1, 60, first=0, max_tokens=100))
    step(line)
    for token in range(60, 130):
        line.gained(wire.Piece(1, [token], [], "stop" if token == 129 else ""))
    line.add(submit(2, 200, first=0))
    assert read(step(line)) == [(2, 200 - 128)]


def test_memory_is_kept_for_the_longest_answer_and_the_queue_keeps_its_order() -> None:
    line = lineup(kv_blocks=10)
    line.add(submit(1, 32, max_tokens=128))  # 5 blocks and one to spare
    line.add(submit(2, 32, max_tokens=128))
    line.add(submit(3, 8, max_tokens=8))  # would fit, but it came after 2
    step(line)
    assert (line.running, line.waiting) == (1, 2)
    line.remove(1)
    step(line)
    assert (line.running, line.waiting) == (2, 0)


def test_no_more_sequences_run_than_allowed() -> None:
    line = lineup(max_num_seqs=2)
    for id_ in range(5):
        line.add(submit(id_, 8))
    step(line)
    assert (line.running, line.waiting) == (2, 3)


def test_a_removed_request_leaves_nothing_behind_wherever_it_was() -> None:
    line = lineup(max_num_seqs=2)
    line.add(submit(1, 8))
    step(line)
    line.add(submit(2, 4000))
    step(line)
    line.add(submit(3, 8))
    for id_ in (3, 2, 1, 99):
        line.remove(id_)
    assert line.idle
    line.add(submit(4, 300_000, max_tokens=10_000))  # all but the whole cache: nothing is still reserved
    assert read(line.plan())[0][0] == 4


def test_pace_follows_what_it_sees_but_not_a_single_pause() -> None:
    pace = Pace(token_ms=1.0)
    pace.observe(200.0, decoding=0, prefill_tokens=100, depth=0)
    assert pace.token_ms(0) == 2.0
    pace.observe(100_000.0, decoding=0, prefill_tokens=100, depth=0)
    assert pace.token_ms(0) < 4.0
    for _ in range(30):
        pace.observe(500.0, decoding=0, prefill_tokens=100, depth=0)
    assert abs(pace.token_ms(0) - 5.0) < 0.01
    assert pace.token_ms(30_000) == pace.token_ms(0)  # the nearest depth that is known


def test_pace_takes_decoding_out_of_the_cost_of_prompt_tokens() -> None:
    pace = Pace()
    pace.observe(50.0, decoding=4, prefill_tokens=0, depth=0)
    pace.observe(150.0, decoding=4, prefill_tokens=100, depth=0)
    assert (pace.decode_ms(4), pace.decode_ms(0), pace.token_ms(0)) == (50.0, 0.0, 1.0)
