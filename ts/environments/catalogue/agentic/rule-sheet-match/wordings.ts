/** The rule sheet in words, and the prompts of rule-sheet-match. */
import type { Rules } from "./game.ts";
import type { Instance } from "./match.ts";

const VALUE =
  "Every move of yours is compared with the full solution of the game: one that leaves you worse off than you could have been costs a share, even if the match is won. A move against the rules loses at once.";

export const PROMPTS: readonly ((instance: Instance) => string)[] = [
  (one) =>
    `Play a match and win it. You move first.\n\nPiles of counters: ${piles(one)}.\n${list(one.rules)}\n\n${VALUE} ${goal(one)}`,
  (one) =>
    `Here is the rule sheet of a game for two:\n${list(one.rules)}\n\nThe match begins with piles of ${piles(one)} counters, and you begin. Play it to its end. ${goal(one)} ${VALUE}`,
  (one) =>
    `${VALUE}\n\nYour match: you are to move, and the piles, from number 1 on, have ${piles(one)} counters. ${goal(one)}\n\nRules\n${list(one.rules)}`,
  (one) =>
    `Two players move in turn, you first. At the start the piles hold ${piles(one)} counters.\n\n${list(one.rules)}\n\nThe other player is strong, but may err. ${goal(one)} Play until the match is over. ${VALUE}`,
];

function piles({ piles: counts }: Instance): string {
  return counts.join(", ");
}

function goal({ rules }: Instance): string {
  return rules.end === "points"
    ? "Make your lead in points as large as play against the best answers allows."
    : "With the right moves you win whatever the other player does.";
}

function list(rules: Rules): string {
  return rulesOf(rules)
    .map((text) => `- ${text}`)
    .join("\n");
}

function rulesOf({ takes, halves, echo, chain, gift, again, passes, end, weights }: Rules): string[] {
  const isShared = takes.every((one) => one.join() === takes[0]?.join());
  const numbers = isShared
    ? `A move takes ${or(takes[0] ?? [])} counters from one pile.`
    : `A move takes counters from one pile: ${takes.map((one, pile) => `${or(one)} from pile ${pile + 1}`).join("; ")}.`;
  const optional: readonly (readonly [boolean, string])[] = [
    [halves, "Half of a pile, rounded up, may be taken from it, too."],
    [
      echo,
      "No player may take the same number of counters as the move directly before took, be it the own move or the other's.",
    ],
    [
      chain,
      "No player may take from the pile from which the move directly before took, be it the own move or the other's.",
    ],
    [
      gift !== null,
      `After a take of ${gift ?? 0} or more, one counter from outside is added to the next pile (after the last pile comes pile 1).`,
    ],
    [again, "Who takes the last counter of a pile is to move again, also where no legal take is left."],
    [
      passes > 0,
      "Who has a legal take may pass instead, once in the match; after a pass no move counts as the one before.",
    ],
  ];
  const ends = {
    last: "The match is over when the player to move has no legal take: that player loses.",
    misere: "The match is over when the player to move has no legal take: that player wins.",
    points: `The match is over when the player to move has no legal take. A counter that you have taken counts ${weights.map((weight, pile) => `${weight} from pile ${pile + 1}`).join(", ")}; more points win.`,
  };
  return [numbers, ...optional.filter(([isOn]) => isOn).map(([, text]) => text), ends[end]];
}

function or(numbers: readonly number[]): string {
  return `${numbers.slice(0, -1).join(", ")} or ${numbers.at(-1) ?? ""}`;
}
