/** lesson-hours: a colouring of the edges of a bipartite graph with as many colours as its largest degree. */
import { shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";

interface Problem {
  meetings: [teacher: number, group: number][];
  hours: number;
}

/** By level: teachers, hours. */
const SIZES = [
  [3, 2],
  [4, 3],
  [5, 4],
  [7, 4],
  [8, 5],
] as const;

export const lessonHours = certificateRow<Problem>({
  id: "lesson-hours",
  asks: "hours for lessons so that no teacher and no class has two at once, in the fewest hours",
  draw(rng, level) {
    const [size, hours] = at(SIZES, level - 1);
    // Each hour pairs most of the teachers with classes; a pair meets only once.
    const placed = range(hours).flatMap((hour) => {
      const order = shuffled(range(size), rng);
      const count = size - rng.integer(2);
      return shuffled(range(size), rng)
        .slice(0, count)
        .map((teacher) => ({ teacher: teacher + 1, group: at(order, teacher) + 1, hour: hour + 1 }));
    });
    const seen = new Set<string>();
    const meetings = placed
      .filter(({ teacher, group }) => !seen.has(`${teacher}.${group}`) && seen.add(`${teacher}.${group}`))
      .toSorted((a, b) => a.teacher - b.teacher || a.group - b.group);
    const degrees = range(size).map((index) => meetings.filter(({ teacher }) => teacher === index + 1).length);
    const problem = { meetings: meetings.map(({ teacher, group }): [number, number] => [teacher, group]), hours };
    if (Math.max(...degrees) < hours || greedyHours(problem) <= hours) return null;
    return { problem, certificate: meetings.map(({ hour }) => hour).join(", "), steps: meetings.length * size * hours };
  },
  proves({ meetings, hours }, answer) {
    const list = integersIn(answer);
    if (list?.length !== meetings.length || list.some((hour) => hour < 1 || hour > hours)) return false;
    return [0, 1].every(
      (end) => new Set(meetings.map((lesson, index) => `${lesson[end]}.${at(list, index)}`)).size === meetings.length,
    );
  },
  prompts: [
    (one) =>
      `Lessons (teacher-class) to be held: ${meetingsText(one)}. Each takes one hour. Plan them within the hours 1 to ${one.hours}, such that neither a teacher nor a class has two lessons in the same hour. ${FORMAT}`,
    (one) =>
      `The bipartite graph between numbers and letters has the edges ${meetingsText(one)} and largest degree ${one.hours}. Colour its edges properly with the colours 1..${one.hours}. ${FORMAT}`,
    (one) =>
      `${FORMAT} It has to lie between 1 and ${one.hours}, and two entries of this list that share their number or their letter must not get the same value: ${meetingsText(one)}.`,
    (one) =>
      `Chess teams: player n of team one meets the lettered players of team two in these games: ${meetingsText(one)}. A player plays at most once in a round. Arrange the games in ${one.hours} rounds. ${FORMAT}`,
  ],
  slips({ meetings, hours }, certificate) {
    const list = certificate.split(", ");
    return [
      meetings.map((_, index) => (index % hours) + 1).join(", "),
      meetings.map(() => 1).join(", "),
      list.with(0, at(list, 1)).with(1, at(list, 0)).join(", "),
      list.slice(1).join(", "),
      list.with(0, String(hours + 1)).join(", "),
    ];
  },
  variants: ({ hours }, certificate) => [
    certificate
      .split(", ")
      .map((hour) => hours + 1 - Number(hour))
      .join(" "),
  ],
});

const FORMAT = "Answer with one number for each item of the list, in its order, separated by commas.";

function meetingsText({ meetings }: Problem): string {
  return meetings.map(([teacher, group]) => `${teacher}-${String.fromCharCode(64 + group)}`).join(", ");
}

/** The first free hour, lesson after lesson. */
function greedyHours({ meetings }: Problem): number {
  const hours: number[] = [];
  for (const [teacher, group] of meetings) {
    const taken = hours.filter((_, index) => at(meetings, index)[0] === teacher || at(meetings, index)[1] === group);
    hours.push(range(meetings.length + 1).find((hour) => hour > 0 && !taken.includes(hour)) ?? 1);
  }
  return Math.max(...hours);
}
