/** The built-in environments of several agents: rules, payoffs, and rollouts of both with a scripted policy. */
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";

import {
  type Action,
  type Deal,
  DEALS,
  isOver,
  legalActions,
  payoff,
  toAct,
} from "../../../../ts/environments/builtin/kuhn-poker/game.ts";
import { readMove, replay, winnings } from "../../../../ts/environments/builtin/kuhn-poker/hand.ts";
import { readProblem } from "../../../../ts/environments/builtin/proposer-solver/index.ts";
import { type ConfiguredEnvironment, loadEnvironment, type ReplyClient } from "../../../../ts/environments/index.ts";
import { loadRenderer, loadTokenizer } from "../../../../ts/renderers/index.ts";
import { REVERSE_TEXT_MODEL } from "./reverse-text-model.ts";

/** Chance of an action of a player with this card after these actions. */
type Strategy = (card: string, history: readonly Action[], action: Action) => number;

/** What player 0 wins on average, over the six deals and both players' chances. */
function value(strategies: readonly [Strategy, Strategy]): number {
  const walk = (deal: Deal, history: readonly Action[]): number => {
    if (isOver(history)) return payoff(deal, history);
    const player = toAct(history);
    return legalActions(history).reduce(
      (sum, action) => sum + strategies[player](deal[player], history, action) * walk(deal, [...history, action]),
      0,
    );
  };
  return DEALS.reduce((sum, deal) => sum + walk(deal, []), 0) / DEALS.length;
}

const chance = (yes: number, action: Action, meant: Action): number => (action === meant ? yes : 1 - yes);

/** Kuhn's family of optimal strategies for the first player, with `alpha` in [0, 1/3]. */
const first =
  (alpha: number): Strategy =>
  (card, history, action) => {
    if (history.length === 0) return chance(card === "J" ? alpha : card === "K" ? 3 * alpha : 0, action, "bet");
    return chance(card === "J" ? 0 : card === "K" ? 1 : alpha + 1 / 3, action, "call");
  };

/** The second player's only optimal strategy. */
const second: Strategy = (card, history, action) =>
  history.at(-1) === "bet"
    ? chance(card === "J" ? 0 : card === "K" ? 1 : 1 / 3, action, "call")
    : chance(card === "J" ? 1 / 3 : card === "K" ? 1 : 0, action, "bet");

describe("the rules of Kuhn poker", () => {
  it("give the known value of the game, -1/18, for every optimal strategy of the first player", () => {
    for (const alpha of [0, 0.1, 0.2, 1 / 3]) expect(value([first(alpha), second])).toBeCloseTo(-1 / 18, 12);
  });

  it("leave the first player no better answer to the optimal second one", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }), (chances) => {
        const any: Strategy = (card, history, action) => {
          const at = ["J", "Q", "K"].indexOf(card) * 2 + (history.length === 0 ? 0 : 1);
          return chance(chances[at] ?? 0, action, history.length === 0 ? "bet" : "call");
        };
        expect(value([any, second])).toBeLessThanOrEqual(-1 / 18 + 1e-12);
      }),
    );
  });

  it("pay by the rules for any replies, and never more than two chips", () => {
    const reply = fc.constantFrom("[check]", "[bet]", "[fold]", "[call]", "", "[check] [bet]", "I [ CALL ]");
    const replies = fc.array(reply, { maxLength: 6 });
    fc.assert(
      fc.property(
        replies,
        replies,
        fc.constantFrom(...DEALS),
        fc.integer({ min: 0, max: 2 }),
        (a, b, deal, retries) => {
          const hand = replay([a, b], retries);
          const won = winnings(deal, hand, 0);
          expect(winnings(deal, hand, 1)).toBe(-won);
          expect([1, 2]).toContain(Math.abs(won));
          if (hand.forfeitedBy !== null) expect(won).toBe(hand.forfeitedBy === 0 ? -2 : 2);
          if (isOver(hand.history)) expect(won).toBe(payoff(deal, hand.history));
        },
      ),
    );
  });

  it("take exactly one legal word in brackets for a move", () => {
    const legal = ["check", "bet"] as const;
    expect(readMove("I will [Bet].", legal)).toBe("bet");
    for (const none of ["bet", "[bet] or [check]", "[call]", "[betting]", "", "[bet"])
      expect(readMove(none, legal)).toBeNull();
    expect(readMove("[bet] [bet]", legal)).toBe("bet");
  });
});

/** A model whose answer is a function of the last message. */
function model(say: (last: string) => string): ReplyClient & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    reply({ prompt }) {
      const last = typeof prompt === "string" ? prompt : (prompt.at(-1)?.content ?? "");
      asked.push(last);
      return Promise.resolve({
        message: { role: "assistant", content: say(last) },
        toolCalls: [],
        finishReason: "stop",
        usage: { promptTokens: 1, completionTokens: 1 },
      });
    },
  };
}

async function play(environment: ConfiguredEnvironment, data: object, endpoint: ReplyClient) {
  const { episode } = await environment.run({
    episodeId: "e",
    groupId: "g",
    source: "s",
    task: { key: "0", hash: "", data },
    endpoint,
    sampling: { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "eval", step: 0 },
    signal: new AbortController().signal,
  });
  expect(episode.errors).toEqual([]);
  return episode.traces;
}

describe("kuhn-poker", () => {
  let environment: ConfiguredEnvironment;
  beforeAll(async () => {
    environment = (await loadEnvironment("kuhn-poker")).configure();
  });
  const deal = { hand: 1, cards: ["K", "Q"] };

  it("plays a hand between two seats that each know only their own card", async () => {
    const policy = model((last) => (last.includes("[call]") ? "[call]" : "[bet]"));
    const traces = await play(environment, deal, policy);
    expect(
      traces.map(({ agent, reward, stop_condition: stop, trainable }) => [agent, reward, stop, trainable]),
    ).toEqual([
      ["player0", 2, "hand_over", true],
      ["player1", -2, "hand_over", true],
    ]);
    expect(policy.asked).toEqual(["Your move: [check] or [bet]", "The other player: bet. Your move: [fold] or [call]"]);
    expect(traces[0]?.nodes[0]?.message.content).toContain("Your card is K.");
    expect(JSON.stringify(traces[1]?.nodes)).not.toContain("card is K");
  });

  it("lets an invalid move be made again, then forfeits the hand", async () => {
    let tries = 0;
    const late = model((last) => (last.startsWith("That is no move") || tries++ > 0 ? "[check]" : "hm"));
    const traces = await play(environment, deal, late);
    expect(traces.map(({ reward, metrics }) => [reward, metrics["invalid"]])).toEqual([
      [1, 1],
      [-1, 0],
    ]);
    const never = await play(
      environment,
      deal,
      model(() => "hm"),
    );
    expect(never.map(({ agent, reward, stop_condition: stop }) => [agent, reward, stop])).toEqual([
      ["player0", -2, "forfeit"],
    ]);
  });

  it("freezes the seat that is not to learn", async () => {
    const half = (await loadEnvironment("kuhn-poker")).configure({ learner: "player1" });
    const traces = await play(
      half,
      deal,
      model(() => "[check]"),
    );
    expect(traces.map(({ trainable }) => trainable)).toEqual([false, true]);
  });
});

describe("proposer-solver", () => {
  it("rewards solvers by the exact answer and the proposer by how many find it", async () => {
    const environment = (await loadEnvironment("proposer-solver")).configure({ solvers: 4 });
    let attempts = 0;
    const policy = model((last) => {
      if (last.startsWith("Write")) return "<problem>(2 + 3) * 4</problem>";
      return attempts++ === 0 ? "\\boxed{19}" : "so \\boxed{20}";
    });
    const traces = await play(environment, { numbers: [2, 3, 4] }, policy);
    expect(traces.map(({ agent, reward }) => [agent, reward])).toEqual([
      ["proposer", 4 * 0.75 * 0.25 + 0.2],
      ["solver", 0],
      ["solver", 1],
      ["solver", 1],
      ["solver", 1],
    ]);
    expect(traces[0]?.metrics).toEqual({ solve_rate: 0.75 });
    expect(traces[1]?.metrics).toEqual({});
  });

  it("asks no solver when there is no problem", async () => {
    const environment = (await loadEnvironment("proposer-solver")).configure();
    const traces = await play(
      environment,
      { numbers: [2, 3] },
      model(() => "<problem>2 + 2</problem>"),
    );
    expect(traces).toMatchObject([{ agent: "proposer", reward: 0, stop_condition: "no_problem" }]);
  });

  it.each([
    ["2 + 3 * 4", 14n],
    ["(4 - 2) / 3 * 3", null],
    ["2 / 3 * 4", null],
    ["2 + 3", null],
    ["2 + 3 + 4 = 9", null],
    ["2 / (3 - 4 + 1)", null],
    ["", null],
  ])("%s", (expression, answer) => {
    expect(readProblem(`<problem>${expression}</problem>`, { numbers: [4, 3, 2] })?.answer ?? null).toBe(answer);
  });
});

describe("a policy that thinks", () => {
  /** The traces of a policy that says these texts in turn, the last one for ever. */
  async function thinking(id: string, data: object, texts: readonly string[], args = {}) {
    const environment = (await loadEnvironment(id)).configure(args);
    const tokenizer = await loadTokenizer(REVERSE_TEXT_MODEL);
    let said = 0;
    const { episode } = await environment.run({
      episodeId: "e",
      groupId: "g",
      source: "s",
      task: { key: "0", hash: "", data },
      client: {
        generate: async () => {
          const tokenIds = tokenizer.encode(`${texts[Math.min(said++, texts.length - 1)] ?? ""}<|im_end|>`);
          const logprobs = new Float32Array(tokenIds.length);
          return { tokenIds, logprobs, policyVersions: [[0, 0]], finishReason: "stop" };
        },
      },
      tokenizer,
      renderer: await loadRenderer(REVERSE_TEXT_MODEL, { name: "qwen3" }),
      sampling: { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 },
      seed: 1,
      run: { type: "train", step: 1 },
      signal: new AbortController().signal,
    });
    expect(episode.errors).toEqual([]);
    return episode.traces.map(({ reward, stop_condition: stop }) => [reward, stop]);
  }

  it("makes the move that it says and is paid for, not those that it thinks of", async () => {
    const texts = ["<think>[check] or [bet]?</think>[bet]", "<think>[call]?</think>[fold]"];
    expect(await thinking("kuhn-poker", { hand: 1, cards: ["K", "Q"] }, texts)).toEqual([
      [1, "hand_over"],
      [-1, "hand_over"],
    ]);
  });

  it("proposes nothing while it thinks", async () => {
    const texts = ["<think><problem>2 + 3</problem>", "\\boxed{5}"];
    expect(await thinking("proposer-solver", { numbers: [2, 3] }, texts)).toEqual([[0, "no_problem"]]);
  });
});

it("demonstrations of kuhn-poker are hands of legal moves, from either seat, and give no card away", async () => {
  const environment = (await loadEnvironment("kuhn-poker")).configure({ brief: true });
  const seen = new Set<string>();
  let taken = 0;
  for (const demonstration of environment.demonstrations(3)) {
    if (!("messages" in demonstration)) throw new Error("a pair");
    const [system, ...turns] = demonstration.messages;
    const [, seat = "", card = ""] =
      /^Kuhn poker, (first|second) player, card ([JQK])\.$/u.exec(system?.content ?? "") ?? [];
    seen.add(`${seat} ${card}`);
    turns.forEach(({ role, content }, index) => {
      expect(role).toBe(index % 2 === 0 ? "user" : "assistant");
      if (role === "assistant") expect(turns[index - 1]?.content).toContain(content);
    });
    if (++taken === 200) break;
  }
  expect(seen.size).toBe(6);
});
