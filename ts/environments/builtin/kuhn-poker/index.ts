/**
 * kuhn-poker: two seats play one hand of Kuhn poker against one another; each is rewarded by the chips that it wins.
 *
 * Both seats are the policy unless `opponent` names a model for the seat that does not learn. The rewards are a function of the deal
 * and of the replies: the hand is played again from them.
 */
import { z } from "zod";

import { endpointConfig } from "../../endpoint/endpoint-config.ts";
import { defineEnvironment, type Demonstration } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import { reward, type RewardContext } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { endless } from "../../model/tasks.ts";
import type { Trace } from "../../episode/trace.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { type Card, type Deal, DEALS, legalActions, type Player } from "./game.ts";
import { type Hand, replay, winnings } from "./hand.ts";

const config = z.strictObject({
  retries: z.int().min(0).max(5).default(1).describe("how often a player may try again after a move that is none"),
  learner: z.enum(["both", "player0", "player1"]).default("both").describe("which seats train"),
  opponent: endpointConfig
    .nullable()
    .default(null)
    .describe("who plays the seat that does not train; unset: the policy"),
  brief: z.boolean().default(false).describe("players get only their seat and card, not the rules: for small models"),
});

type Config = z.output<typeof config>;
type Agent = "player0" | "player1";

interface Row {
  /** Distinguishes hands of the same deal. */
  hand: number;
  cards: Deal;
}

const PLAYERS: Readonly<Record<Agent, Player>> = { player0: 0, player1: 1 };
type Context = RewardContext<Row, Config, Agent>;

export default defineEnvironment({
  name: "kuhn-poker",
  version: "1.0.0",
  tags: ["game", "self-play", "multi-agent", "synthetic"],
  config,
  tasks: ({ rng, split }) => endless(ofSplit(rows(rng), split, (row) => row.hand)),
  key: (_, index) => String(index),
  agents: ["player0", "player1"],
  seats: ({ config: { learner, opponent } }) => ({
    player0: learner === "player1" ? { trains: false, endpoint: opponent } : {},
    player1: learner === "player0" ? { trains: false, endpoint: opponent } : {},
  }),
  async rollout({ task, config: { retries, brief }, agent }) {
    const seats = [agent("player0"), agent("player1")] as const;
    const said: [string[], string[]] = [[], []];
    const messages: [Message[], Message[]] = [
      [cardMessage(task.cards[0], 0, brief)],
      [cardMessage(task.cards[1], 1, brief)],
    ];
    for (;;) {
      const hand = replay(said, retries);
      const player = hand.next;
      if (player === null) return { stopCondition: hand.forfeitedBy === null ? "hand_over" : "forfeit" };
      messages[player].push({ role: "user", content: situation(hand, player) });
      const reply = await seats[player].sample(messages[player]);
      messages[player].push(reply.message);
      said[player].push(reply.message.content);
    }
  },
  metrics: {
    forfeit: (context: Context) => played(context).forfeitedBy === PLAYERS[context.agent],
    invalid: (context: Context) => played(context).invalid[PLAYERS[context.agent]],
    won: (context: Context) => winnings(context.task.cards, played(context), PLAYERS[context.agent]) > 0,
  },
  rewards: {
    payoff: reward(1, (context: Context) => winnings(context.task.cards, played(context), PLAYERS[context.agent])),
  },
  demonstrations: ({ config: { brief }, rng }) => demonstrations(brief, rng),
  async validate({ task, config: { retries }, scoreAgents }) {
    const says = (...replies: string[]): Message[] => replies.map((content) => ({ role: "assistant", content }));
    const hands: [string[], string[]][] = [
      [["[check]"], ["[check]"]],
      [["[bet]"], ["[fold]"]],
      [["[check]", "[call]"], ["[bet]"]],
      [["[bet]"], Array.from({ length: retries + 1 }, () => "[raise]")],
    ];
    for (const [first, second] of hands) {
      const won = await scoreAgents({ player0: [says(...first)], player1: [says(...second)] });
      const [a = Number.NaN, b = Number.NaN] = [won["player0"]?.[0], won["player1"]?.[0]];
      const right = winnings(task.cards, replay([first, second], retries), 0);
      if (a !== right || b !== -right)
        throw new Error(`${first.join()} ${second.join()} pays ${a} and ${b}, not ${right}`);
    }
    // No single move is right, so the replies scored here are not gold replies.
    const alone = async (reply: string) => (await scoreAgents({ player0: [says(reply)] }))["player0"]?.[0];
    const [bet, silence] = [await alone("[bet]"), await alone("")];
    if (bet !== 2 || silence !== -2) throw new Error(`a bet without an answer pays ${bet}, silence ${silence}`);
  },
});

function played({ traces, config: { retries } }: Context): Hand {
  const replies = (trace: Trace | undefined): string[] =>
    trace?.nodes.filter(({ sampled }) => sampled).map(({ message }) => message.content) ?? [];
  return replay([replies(traces.player0[0]), replies(traces.player1[0])], retries);
}

/** The first message to a player. */
function cardMessage(card: Card, player: Player, brief: boolean): Message {
  const seat = player === 0 ? "first" : "second";
  if (brief) return { role: "system", content: `Kuhn poker, ${seat} player, card ${card}.` };
  const content =
    "You play one hand of Kuhn poker. The deck is J, Q and K, K is the highest. Each of the two players has paid one chip and has one " +
    "card. The first player checks or bets one chip. After a check the other one checks, and the higher card wins one chip, or bets. " +
    "Who faces a bet folds and loses one chip, or calls, and the higher card wins two chips. A move is one word in brackets, such as " +
    `[check]; a player who makes no move loses two chips. You are the ${seat} player. Your card is ${card}.`;
  return { role: "system", content };
}

/** Hands of random moves, from either seat: how moves are made, and nothing of how to win. */
function* demonstrations(brief: boolean, rng: Rng): Generator<Demonstration> {
  for (const { cards } of ofSplit(rows(rng), "demonstrations", (row) => row.hand)) {
    const said: [string[], string[]] = [[], []];
    const messages: [Message[], Message[]] = [[cardMessage(cards[0], 0, brief)], [cardMessage(cards[1], 1, brief)]];
    let hand = replay(said, 0);
    for (; hand.next !== null; hand = replay(said, 0)) {
      const content = `[${rng.pick(legalActions(hand.history))}]`;
      messages[hand.next].push({ role: "user", content: situation(hand, hand.next) }, { role: "assistant", content });
      said[hand.next].push(content);
    }
    for (const seat of messages) if (seat.length > 1) yield { messages: seat };
  }
}

function situation({ history, retry }: Hand, player: Player): string {
  const moves = legalActions(history)
    .map((action) => `[${action}]`)
    .join(" or ");
  if (retry) return `That is no move. Your move: ${moves}`;
  const before = history.map((action, turn) => `${turn % 2 === player ? "You" : "The other player"}: ${action}.`);
  return [...before, `Your move: ${moves}`].join(" ");
}

function* rows(rng: Rng): Generator<Row> {
  for (;;) yield { hand: rng.integer(2 ** 31), cards: rng.pick(DEALS) };
}
