/** offer-rounds: who is with whom after rounds of offers with quotas, refusals and second tries. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const offerRounds = variantRow({
  id: "offer-rounds",
  asks: "the places of applicants after rounds of offers with quotas, unacceptable ones, patience and bonus",
  name: "places",
  parameters: ["wishes", "scores"],
  extras: ["quota", "least", "sibling", "immediate", "patience", "swap-tie"],
  constants: (rng) => ({
    quota: between(rng, 2, 3),
    least: between(rng, 15, 40),
    bonus: between(rng, 5, 25),
    patience: between(rng, 2, 3),
    none: -between(rng, 2, 60),
  }),
  stories: [
    "Schools choose their pupils in several rounds.",
    "Interns are assigned to hospitals by a procedure.",
    "Players choose teams, and teams choose players.",
    "Rooms in a dormitory are given to students.",
  ],
  rules: `
Applicant i has a list of schools, wishes[i], the best one first; scores[s][i] is how much school s likes applicant i.
In every round, each applicant who has no place applies to the first school of the list that has not refused the applicant yet; who has been refused by all of them has no place and does not apply any more.
Who has been refused by {{patience}} schools has no place and does not apply any more, too. #?patience
A school looks at those who have a place with it and those who have just applied. #!immediate
A school looks at those who have just applied; those who have a place with it keep it for ever. #?immediate
It keeps the one it likes best and refuses all others. #!quota #!immediate
It keeps the {{quota}} ones it likes best (all, if there are no more) and refuses all others. #?quota #!immediate
If its one place is still free, it gives it to the one it likes best. It refuses all others. #!quota #?immediate
As many of its {{quota}} places as are still free go to the ones it likes best. It refuses all others. #?quota #?immediate
Applicants whom it likes less than {{least}} it refuses always. #?least
The liking is {{bonus}} more if the number of the school is the remainder of the number of the applicant divided by 3. #?sibling
Of applicants whom it likes equally it prefers the smaller number. #!swap-tie
Of applicants whom it likes equally it prefers the larger number. #?swap-tie
The rounds end when no applicant applies any more.
`,
  types: `
The arguments are two lists of lists. The result is a list of two: the school of each applicant in order ({{none}} for those without a place), and the number of rounds in which somebody applied.
`,
  calls(_, rng) {
    const call = (applicants: number, schools: number, top: number): Json[] => [
      range(applicants).map(() => sample(shuffled(range(schools), rng), between(rng, 1, schools), rng)),
      range(schools).map(() => range(applicants).map(() => between(rng, 1, top))),
    ];
    const some = (applicants: number, schools: number, top: number): Json[][] =>
      range(6).map(() => call(applicants, schools, top));
    return {
      small: some(4, 3, 60),
      even: some(6, 6, 90),
      ties: some(6, 4, 5).map(([wishes, scores]) => [wishes ?? [], times(scores ?? [])]),
      large: some(10, 5, 80),
    };
  },
  solve(
    [wishes, scores]: readonly [readonly (readonly number[])[], readonly (readonly number[])[]],
    { quota, least, bonus, patience, none },
    on,
  ) {
    const refused = wishes.map(() => 0);
    const place = wishes.map(() => none);
    const size = on("quota") ? quota : 1;
    const liking = (school: number, one: number): number =>
      at(at(scores, school), one) + (on("sibling") && one % 3 === school ? bonus : 0);
    for (let rounds = 0; ; rounds++) {
      const applies = range(wishes.length).filter(
        (one) =>
          place[one] === none &&
          at(refused, one) < at(wishes, one).length &&
          !(on("patience") && at(refused, one) >= patience),
      );
      if (applies.length === 0) return [place, rounds];
      const targets = new Map(applies.map((one) => [one, wishes[one]?.[at(refused, one)]]));
      for (const school of range(scores.length)) {
        const holders = range(wishes.length).filter((one) => place[one] === school);
        const fresh = applies.filter((one) => targets.get(one) === school);
        const ranked = [...(on("immediate") ? [] : holders), ...fresh]
          .filter((one) => !on("least") || liking(school, one) >= least)
          .toSorted((a, b) => liking(school, b) - liking(school, a) || (on("swap-tie") ? b - a : a - b));
        const kept = new Set(ranked.slice(0, on("immediate") ? Math.max(0, size - holders.length) : size));
        for (const one of on("immediate") ? fresh : [...holders, ...fresh]) {
          place[one] = kept.has(one) ? school : none;
          if (!kept.has(one)) refused[one] = at(refused, one) + 1;
        }
      }
    }
  },
  python: `
def places(wishes, scores):
    left = [list(wish) for wish in wishes]
    held = [[] for _ in scores]
    rounds = 0

    def liking(school, one):
        value = scores[school][one]
        value += {{bonus}} * (one % 3 == school) #?sibling
        return value

    while True:
        placed = {one for some in held for one in some}
        fresh = [[] for _ in scores]
        for one, wish in enumerate(left):
            if len(wishes[one]) - len(wish) >= {{patience}}: #?patience
                continue #?patience
            if one not in placed and wish:
                fresh[wish[0]].append(one)
        if not any(fresh):
            break
        rounds += 1
        for school, new in enumerate(fresh):
            some = new #?immediate
            some = held[school] + new #!immediate
            good = some
            good = [one for one in good if liking(school, one) >= {{least}}] #?least
            good = sorted(good, key=lambda one: (-liking(school, one), one)) #!swap-tie
            good = sorted(good, key=lambda one: (-liking(school, one), -one)) #?swap-tie
            size = 1 #!quota
            size = {{quota}} #?quota
            good = good[:size] #!immediate
            good = good[:size - len(held[school])] #?immediate
            for one in some:
                if one not in good:
                    left[one].remove(school)
            held[school] = good #!immediate
            held[school] += good #?immediate
    where = {one: school for school, some in enumerate(held) for one in some}
    return [[where.get(one, {{none}}) for one in range(len(wishes))], rounds]
`,
});

/** Likings with many ties, in the range of the others. */
function times(scores: Json): Json {
  return (scores as readonly (readonly number[])[]).map((row) => row.map((value) => value * 15));
}
