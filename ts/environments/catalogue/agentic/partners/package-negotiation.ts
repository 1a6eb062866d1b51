/** package-negotiation: a deal on several issues with a partner whose points are hidden, with few questions and proposals. */
import { z } from "zod";

import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call, namesOf, recordName } from "../records.ts";

interface Issue {
  id: string;
  /** Own points of each option; the partner's are a line: `start` plus `step` for each option further. */
  own: number[];
  start: number;
  step: number;
}

interface Instance {
  issues: Issue[];
  /** The partner takes a package with at least so many points. */
  floor: number;
  /** The partner's first offer, and the best package. */
  opening: number[];
  best: number[];
  tried: number;
}

interface World {
  readonly instance: Instance;
  asked: number;
  proposed: number;
  deal: number[] | null;
}

/** By level: issues, options of each. */
const SIZES = [
  [2, 4],
  [3, 4],
  [4, 5],
  [5, 5],
  [6, 5],
] as const;
/** After so many proposals that it does not take, the partner leaves. */
const PROPOSALS = 2;

const packageShape = z.object({
  options: z
    .array(z.int().min(0).max(20))
    .min(1)
    .max(10)
    .describe("an option for each issue, in the order of the list, from 0"),
});
const question = z.object({ issue: recordName, option: z.int().min(0).max(20) });

const tools = {
  list_issues: worldTool<World, z.ZodObject>({
    description: "The issues in their order with your points for each option, and the partner's opening offer",
    parameters: z.object({}),
    run: ({ instance }) => ({
      issues: instance.issues.map(({ id, own }) => ({ id, points: own })),
      opening: instance.opening,
    }),
  }),
  sound_out: worldTool<World, typeof question>({
    description: "The partner's points for one option of an issue",
    parameters: question,
    run: (world, { issue: id, option }) => {
      const { issues } = world.instance;
      const issue = issues.find((one) => one.id === id);
      if (issue === undefined) throw new Refusal(`there is no issue ${id}`);
      if (option >= issue.own.length) throw new Refusal(`${id} has the options 0 to ${issue.own.length - 1}`);
      if (world.asked >= questionsOf(world.instance)) throw new Refusal("the partner answers no more questions");
      world.asked += 1;
      return { points: issue.start + option * issue.step, questions_left: questionsOf(world.instance) - world.asked };
    },
  }),
  propose: worldTool<World, typeof packageShape>({
    description: "Proposes a package; if the partner takes it, the deal is final",
    parameters: packageShape,
    run: (world, { options }) => {
      const { instance } = world;
      if (world.deal !== null) throw new Refusal("there is a deal already");
      if (world.proposed >= PROPOSALS) throw new Refusal("the partner has left");
      if (
        options.length !== instance.issues.length ||
        options.some((option, index) => option >= at(instance.issues, index).own.length)
      )
        throw new Refusal(`a package has one option for each of ${instance.issues.length} issues`);
      world.proposed += 1;
      const isTaken = partnerPoints(instance.issues, options) >= instance.floor;
      if (isTaken) world.deal = options;
      return isTaken ? "taken" : world.proposed < PROPOSALS ? "not taken" : "not taken; the partner leaves";
    },
  }),
  accept_opening: worldTool<World, z.ZodObject>({
    description: "Takes the partner's opening offer; final",
    parameters: z.object({}),
    run: (world) => {
      if (world.deal !== null) throw new Refusal("there is a deal already");
      if (world.proposed >= PROPOSALS) throw new Refusal("the partner has left");
      world.deal = world.instance.opening;
      return "agreed";
    },
  }),
};

export const packageNegotiation = defineWorldRow<Instance, World>({
  id: "package-negotiation",
  asks: "reach the best deal on several issues with a partner whose points have to be inferred from few questions",
  make,
  effort: ({ tried }) => tried,
  canonical: ({ issues, floor }) => [issues.map(({ own, start, step }) => [own, start, step]), floor],
  prompts: [
    (one) =>
      `Negotiate a package. Each issue gets one option; your points are listed, the partner's are not. Within an issue the partner's points change by the same amount from each option to the next. The partner takes a package when it gives at least ${one.floor} points in all, and leaves after ${PROPOSALS} that do not. You may ask for the partner's points of single options ${questionsOf(one)} times. Get the deal with the most points for yourself.`,
    (one) =>
      `You and a partner must agree on ${one.issues.length} issues. The partner counts points too: on every issue they go up or down evenly along the list of options, and the sum has to reach ${one.floor}, or the proposal is turned down (${PROPOSALS} refusals end the talks). Questions about single options: ${questionsOf(one)}. Aim for the greatest own total; the opening offer is poor.`,
    (one) =>
      `Find the deal that is best for you among those that the partner accepts. It accepts from ${one.floor} points on, by a count that differs from yours. These are hidden, but linear in the number of the option on each issue, and ${questionsOf(one)} questions may be asked. No more than ${PROPOSALS} proposals. Without a deal nothing is earned, and with the opening offer nothing either.`,
    (one) =>
      `Talks about a contract: choose an option per issue. Own points are known. Partner: needs ${one.floor} points, has a constant difference of points between neighbouring options of an issue, answers ${questionsOf(one)} questions in all, walks away after ${PROPOSALS} refused packages. Close the deal with your maximum.`,
  ],
  tools,
  world: (instance) => ({ instance, asked: 0, proposed: 0, deal: null }),
  gold: (instance) => script(instance, instance.best),
  slips: (instance) => {
    const greedy = instance.issues.map(({ own }) => own.indexOf(Math.max(...own)));
    return {
      "asks and accepts the opening": [...script(instance, null), call("accept_opening")],
      "asks and agrees on nothing": script(instance, null),
      "proposes the own favourites": [...script(instance, greedy), call("propose", { options: greedy })],
      "gives in on the first issue": script(instance, concession(instance)),
    };
  },
  blankets: (instance) => ({
    "accepts the opening": [call("list_issues"), call("accept_opening")],
    "the middle of everything": [
      call("list_issues"),
      call("propose", { options: instance.issues.map(({ own }) => Math.floor(own.length / 2)) }),
    ],
    "favourites, then the middle": [
      call("propose", { options: instance.issues.map(({ own }) => own.indexOf(Math.max(...own))) }),
      call("propose", { options: instance.issues.map(({ own }) => Math.floor(own.length / 2)) }),
    ],
  }),
  grade: ({ issues, opening, best }, { deal }) => {
    if (deal === null) return 0;
    const [base, most] = [ownPoints(issues, opening), ownPoints(issues, best)];
    return Math.max(0, (ownPoints(issues, deal) - base) / (most - base)) ** 4;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, options] = at(SIZES, level - 1);
  const ids = namesOf("issue", count, rng);
  const issues = ids.map((id): Issue => {
    const slope = rng.integer(2) === 0 ? 1 : -1;
    const own = range(options).map(
      (option) => (slope > 0 ? option : options - 1 - option) * between(rng, 3, 9) + between(rng, 0, 4),
    );
    // Mostly opposed to the own points.
    const step = (rng.integer(4) === 0 ? slope : -slope) * between(rng, 2, 12);
    return { id, own, start: step < 0 ? -step * (options - 1) + between(rng, 0, 5) : between(rng, 0, 5), step };
  });
  const all = packages(issues);
  const partner = all.map((one) => partnerPoints(issues, one)).toSorted((a, b) => a - b);
  const floor = at(partner, Math.floor(partner.length * 0.62));
  const ranked = all
    .filter((one) => partnerPoints(issues, one) >= floor)
    .toSorted((a, b) => ownPoints(issues, b) - ownPoints(issues, a));
  const [best, second] = ranked;
  const opening = all.reduce((a, b) => (partnerPoints(issues, b) > partnerPoints(issues, a) ? b : a));
  if (best === undefined || second === undefined) return null;
  const [most, base] = [ownPoints(issues, best), ownPoints(issues, opening)];
  const favourites = issues.map(({ own }) => own.indexOf(Math.max(...own)));
  if (partnerPoints(issues, favourites) >= floor) return null;
  const middle = issues.map(({ own }) => Math.floor(own.length / 2));
  const middleScore = partnerPoints(issues, middle) >= floor ? (ownPoints(issues, middle) - base) / (most - base) : 0;
  if (most - base < 10 || ownPoints(issues, second) === most || middleScore > 0.6) return null;
  return { issues, floor, opening, best, tried: all.length };
}

/** Every choice of options. */
function packages(issues: readonly Issue[]): number[][] {
  return issues.reduce<number[][]>(
    (some, { own }) => some.flatMap((one) => own.map((_, option) => [...one, option])),
    [[]],
  );
}

function ownPoints(issues: readonly Issue[], options: readonly number[]): number {
  return issues.reduce((sum, { own }, index) => sum + at(own, at(options, index)), 0);
}

function partnerPoints(issues: readonly Issue[], options: readonly number[]): number {
  return issues.reduce((sum, { start, step }, index) => sum + start + step * at(options, index), 0);
}

/** Two for each issue are enough for a line. */
function questionsOf({ issues }: Pick<Instance, "issues">): number {
  return 2 * issues.length;
}

/** The best package with the partner's favourite on the first issue. */
function concession({ issues, best }: Instance): number[] {
  const [first] = issues;
  const favourite = first === undefined || first.step < 0 ? 0 : first.own.length - 1;
  return best.map((option, index) =>
    index === 0 ? (favourite === option ? (option + 1) % at(issues, 0).own.length : favourite) : option,
  );
}

function script({ issues }: Instance, options: readonly number[] | null): Script {
  return [
    call("list_issues"),
    ...issues.flatMap(({ id }): Call[] => [
      call("sound_out", { issue: id, option: 0 }),
      call("sound_out", { issue: id, option: 1 }),
    ]),
    ...(options === null ? [] : [call("propose", { options })]),
  ];
}
