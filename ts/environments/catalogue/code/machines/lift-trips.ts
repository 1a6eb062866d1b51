/** lift-trips: the stops of a lift that serves calls under a described rule. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const liftTrips = variantRow({
  id: "lift-trips",
  asks: "the stops of a lift with directions, capacity, parking, express floors and doors",
  name: "stops",
  parameters: ["calls"],
  extras: ["capacity", "park", "express", "down-first", "doors", "far"],
  constants: (rng) => ({
    top: between(rng, 8, 17),
    start: between(rng, 1, 6),
    most: between(rng, 1, 3),
    doors: between(rng, 1, 7),
    home: between(rng, 0, 5),
  }),
  stories: [
    "The lift of a tall house is simulated before it is built.",
    "A shelf robot moves up and down one column and carries boxes.",
    "A museum wants to know how long visitors wait for its lift.",
    "The controller of a goods lift is replaced, and must behave as the old one.",
  ],
  rules: `
The lift is at floor {{start}} at time 0, empty; floors are 0 to {{top}}. A person calls at a time on a floor and wants to another floor. The lift moves one floor in one unit of time; stops take no time. #!doors
The lift is at floor {{start}} at time 0, empty; floors are 0 to {{top}}. A person calls at a time on a floor and wants to another floor. The lift moves one floor in one unit of time; each stop takes {{doors}} units, in which the lift stays; people come in and out at the beginning of the stop. #?doors
Targets are the floors of people who have called and wait, and the floors to which the people in the lift want.
At each moment at which it is free to move, these steps are made: first, all people in the lift whose floor this is leave it; then people who have called at this floor at or before this time come in, in the order of their calls; if anybody left or came in, this is a stop.
The lift holds {{most}} people; others stay and wait, but a floor where people wait is no target while the lift is full. #?capacity
Then, if there are targets, the lift moves one floor: to the direction of its last move if there is a target in this direction, otherwise to the other one. Before its first move, its last direction counts as up. #!down-first #!far
Then, if there are targets, the lift moves one floor: to the direction of its last move if there is a target in this direction, otherwise to the other one. Before its first move, its last direction counts as down. #?down-first #!far
Then, if there are targets, the lift moves one floor towards the nearest target; of two that are equally near it takes the upper one. #!down-first #?far
Then, if there are targets, the lift moves one floor towards the nearest target; of two that are equally near it takes the lower one. #?down-first #?far
If there is no target, the lift stays, and one unit of time passes. #!park
If there is no target, the lift moves one floor towards floor {{home}}, and stays if it is there; one unit of time passes. #?park
A move between the floors 3 and 4 takes no time. #?express
Everything ends when no person waits, is in the lift, or will call later.
`,
  types: `
The argument is a list of calls [time, floor, wanted floor], in order of time. The result is the list of the stops [time, floor, people in the lift after the stop], with the time at which the stop begins.
`,
  calls({ top }, rng) {
    const calls = (count: number, gap: number): Json => {
      let time = 0;
      return range(count).map((): Json => {
        const from = rng.integer(top + 1);
        return [(time += rng.integer(gap)), from, (from + between(rng, 1, top)) % (top + 1)];
      });
    };
    const some = (count: number, gap: number): Json[][] => range(6).map(() => [calls(count, gap)]);
    return { two: some(2, 6), busy: some(5, 3), calm: some(3, 30), many: some(8, 6) };
  },
  solve([calls]: readonly [readonly (readonly [number, number, number])[]], values, on) {
    const { top, start, most, doors, home } = values;
    let waiting = calls.map(([time, from, to]) => ({ time, from, to }));
    let inside: number[] = [];
    const out: number[][] = [];
    let [floor, time, direction] = [start, 0, on("down-first") ? -1 : 1];
    const move = (by: number): void => {
      time += on("express") && Math.min(floor, floor + by) === 3 && by !== 0 ? 0 : 1;
      floor = Math.min(top, Math.max(0, floor + by));
    };
    while (waiting.length + inside.length > 0) {
      const before = inside.length;
      inside = inside.filter((to) => to !== floor);
      let isStop = inside.length < before;
      for (const one of waiting.filter((person) => person.from === floor && person.time <= time)) {
        if (on("capacity") && inside.length >= most) break;
        inside.push(one.to);
        waiting = waiting.filter((other) => other !== one);
        isStop = true;
      }
      if (isStop) {
        out.push([time, floor, inside.length]);
        if (on("doors")) {
          time += doors;
          continue;
        }
      }
      const isFull = on("capacity") && inside.length >= most;
      const callers = waiting.filter((person) => person.time <= time && !isFull).map((person) => person.from);
      const targets = [...inside, ...callers].filter((target) => target !== floor);
      if (targets.length === 0) {
        if (waiting.length + inside.length > 0) move(on("park") ? Math.sign(home - floor) : 0);
        continue;
      }
      if (on("far")) {
        const nearest = Math.min(...targets.map((target) => Math.abs(target - floor)));
        const sides = [floor + nearest, floor - nearest].filter((target) => targets.includes(target));
        direction = Math.sign((on("down-first") ? (sides.at(-1) ?? 0) : (sides[0] ?? 0)) - floor);
      } else if (!targets.some((target) => Math.sign(target - floor) === direction)) direction = -direction;
      move(direction);
    }
    return out;
  },
  python: `
def stops(calls):
    waiting, inside, out = [tuple(call) for call in calls], [], []
    floor, time, direction = {{start}}, 0, 1
    direction = -1 #?down-first
    while waiting or inside:
        stay = [to for to in inside if to != floor]
        stop, inside = len(stay) < len(inside), stay
        for call in list(waiting):
            if call[1] == floor and call[0] <= time:
                if len(inside) >= {{most}}: #?capacity
                    break #?capacity
                inside.append(call[2])
                waiting.remove(call)
                stop = True
        if stop:
            out.append([time, floor, len(inside)])
            time += {{doors}} #?doors
            continue #?doors
        targets = [call[1] for call in waiting if call[0] <= time]
        if len(inside) >= {{most}}: #?capacity
            targets = [] #?capacity
        targets = [t for t in targets + inside if t != floor]
        if targets:
            nearest = min(targets, key=lambda t: (abs(t - floor), -t)) #?far #!down-first
            nearest = min(targets, key=lambda t: (abs(t - floor), t)) #?far #?down-first
            direction = 1 if nearest > floor else -1 #?far
            if not any((t - floor) * direction > 0 for t in targets): #!far
                direction = -direction #!far
            move = direction
        elif not waiting and not inside:
            break
        else:
            move = 0 #!park
            move = ({{home}} > floor) - ({{home}} < floor) #?park
        if {floor, floor + move} != {3, 4}: #?express
            time += 1 #?express
        time += 1 #!express
        floor += move
    return out
`,
});
