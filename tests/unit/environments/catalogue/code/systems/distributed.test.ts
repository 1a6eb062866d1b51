/** Answers of the rows about replicas and transactions against methods that share nothing with the rows. */
import { expect, test } from "vitest";

import {
  causalDelivery,
  type DeliveryProblem,
} from "../../../../../../ts/environments/catalogue/code/distributed/causal-delivery.ts";
import { equivalentSerialOrder } from "../../../../../../ts/environments/catalogue/code/distributed/equivalent-serial-order.ts";
import { linearisationWitness } from "../../../../../../ts/environments/catalogue/code/distributed/linearisation-witness.ts";
import {
  mergedText,
  type TextProblem,
} from "../../../../../../ts/environments/catalogue/code/distributed/merged-text.ts";
import {
  replicatedSet,
  type SetProblem,
} from "../../../../../../ts/environments/catalogue/code/distributed/replicated-set.ts";
import {
  type BufferProblem,
  storeBufferOutcomes,
} from "../../../../../../ts/environments/catalogue/code/distributed/store-buffer-outcomes.ts";
import {
  lockPriorityTrace,
  type PriorityProblem,
} from "../../../../../../ts/environments/catalogue/code/distributed/lock-priority-trace.ts";
import {
  type FollowerProblem,
  logFollower,
} from "../../../../../../ts/environments/catalogue/code/distributed/log-follower.ts";
import { createRng } from "../../../../../../ts/random/rng.ts";
import { type Answer, drawnOf } from "../interpreters.ts";

test("causal-delivery: after each arrival those messages are delivered whose causes have all arrived", () => {
  for (const { problem, items } of drawnOf<Answer<DeliveryProblem>>(causalDelivery)) {
    const delivered = new Set<string>();
    for (const [index, item] of items.entries()) {
      for (const name of item.split(" ")) if (name !== "-") delivered.add(name);
      const arrived = problem.messages.slice(0, index + 1);
      const complete = arrived.filter(({ stamp }) => {
        const causes = problem.messages.filter((other) =>
          other.stamp.every((value, place) => value <= (stamp[place] ?? 0)),
        );
        return causes.every((cause) => arrived.includes(cause));
      });
      expect([...delivered].toSorted()).toEqual(complete.map(({ name }) => name).toSorted());
    }
  }
});

test("replicated-set: an element is there if an add that a replica knows is seen by no remove that it knows", () => {
  for (const { problem, items } of drawnOf<Answer<SetProblem>>(replicatedSet)) {
    const known = Array.from({ length: problem.replicas }, () => new Set<number>());
    const seenBy = new Map<number, ReadonlySet<number>>();
    for (const [index, step] of problem.steps.entries()) {
      if (step.do === "merge") for (const one of known[step.from] ?? []) known[step.into]?.add(one);
      else {
        seenBy.set(index, new Set(known[step.at]));
        known[step.at]?.add(index);
      }
    }
    const texts = known.map((history) => {
      const alive = [...history].flatMap((index) => {
        const add = problem.steps[index];
        if (add?.do !== "add") return [];
        const isGone = [...history].some((other) => {
          const step = problem.steps[other];
          return step?.do === "remove" && step.element === add.element && seenBy.get(other)?.has(index) === true;
        });
        return isGone ? [] : [add.element];
      });
      return [...new Set(alive)].toSorted().join(" ") || "-";
    });
    expect(texts).toEqual(items);
  }
});

test("merged-text: inserting in the order of arrival, and stepping over larger ids, agrees", () => {
  const isLarger = (a: string, b: string): boolean =>
    Number.parseInt(a, 10) - Number.parseInt(b, 10) > 0 ||
    (Number.parseInt(a, 10) === Number.parseInt(b, 10) && a.slice(-1) > b.slice(-1));
  for (const { problem, items } of drawnOf<Answer<TextProblem>>(mergedText)) {
    const list: { id: string; letter: string }[] = [];
    const gone = new Set<string>();
    for (const one of problem.operations) {
      if (one.do === "delete") gone.add(one.id);
      else {
        let place = list.findIndex(({ id }) => id === one.after) + 1;
        while (list[place] !== undefined && isLarger(list[place]?.id ?? "", one.id)) place += 1;
        list.splice(place, 0, one);
      }
    }
    expect(list.map(({ id, letter }) => (gone.has(id) ? "" : letter)).join("")).toBe(items[0]);
  }
});

test("equivalent-serial-order: every read has the same writer in the serial run, and every item the same last one", () => {
  type Step = { tx: number; write: boolean; item: string };
  const sources = (steps: readonly Step[]): string[] => {
    const last = new Map<string, string>();
    const counts = new Map<number, number>();
    const found = steps.map(({ tx, write, item }) => {
      const number = (counts.get(tx) ?? 0) + 1;
      counts.set(tx, number);
      const text = `T${tx}.${number}${item} of ${last.get(item)}`;
      if (write) last.set(item, `T${tx}.${number}`);
      return write ? "" : text;
    });
    return [...found, ...[...last].map((pair) => pair.join())].filter((one) => one !== "").toSorted();
  };
  for (const { problem, witness } of drawnOf<{ problem: { steps: Step[] }; witness: string[] }>(
    equivalentSerialOrder,
  )) {
    const serial = witness.flatMap((name) => problem.steps.filter(({ tx }) => `T${tx + 1}` === name));
    expect(sources(serial)).toEqual(sources(problem.steps));
  }
});

test("linearisation-witness: no operation stands before one that had returned when it was called", () => {
  type Instance = { problem: { operations: { from: number; to: number }[] }; witness: string[] };
  for (const { problem, witness } of drawnOf<Instance>(linearisationWitness)) {
    const order = witness.map((name) => problem.operations[Number(name.slice(1)) - 1]);
    for (const [index, one] of order.entries())
      for (const later of order.slice(index + 1)) expect((later?.to ?? 0) < (one?.from ?? 0)).toBe(false);
  }
});

test("store-buffer-outcomes: random runs of a machine with buffers give the listed outcomes", () => {
  const rng = createRng(5);
  for (const { problem, items } of drawnOf<Answer<BufferProblem>>(storeBufferOutcomes, [1, 2])) {
    const seen = new Set<string>();
    // The rarest outcome comes in one run of some hundreds.
    for (let run = 0; run < 600 || (run < 20_000 && seen.size < items.length); run++) {
      const memory: Record<string, number> = { x: 0, y: 0 };
      const threads = problem.threads.map((lines) => ({ lines: [...lines], late: [] as [string, number][], read: "" }));
      for (;;) {
        const open = threads.filter(({ lines, late }) => lines.length > 0 || late.length > 0);
        if (open.length === 0) break;
        const thread = rng.pick(open);
        const [line] = thread.lines;
        const isBlocked = line === undefined || (line.do === "fence" && thread.late.length > 0);
        if (isBlocked || (thread.late.length > 0 && rng.integer(2) === 0)) {
          const [name, value] = thread.late.shift() ?? ["x", 0];
          memory[name] = value;
          continue;
        }
        thread.lines.shift();
        if (line.do === "store") thread.late.push([line.to, line.value]);
        if (line.do === "load")
          thread.read += String(thread.late.findLast(([name]) => name === line.from)?.[1] ?? memory[line.from]);
      }
      seen.add(threads.map(({ read }) => read).join(""));
    }
    expect([...seen].toSorted()).toEqual(items);
  }
});

test("log-follower: a follower whose log is cut and joined as a list agrees", () => {
  for (const { problem, items } of drawnOf<Answer<FollowerProblem>>(logFollower)) {
    let state = { term: problem.term, vote: "", log: problem.log, commit: 0 };
    const found = problem.messages.map((message) => {
      if (message.term > state.term) state = { ...state, term: message.term, vote: "" };
      const last = state.log.length;
      if (message.do === "vote") {
        const mine = (state.log[last - 1] ?? 0) * 1000 + last;
        const grants =
          message.term === state.term &&
          message.lastTerm * 1000 + message.lastIndex >= mine &&
          ["", message.from].includes(state.vote);
        if (grants) state = { ...state, vote: message.from };
        return `${grants ? "yes" : "no"} ${state.term}`;
      }
      const { previousIndex: start, entries } = message;
      const fits = start === 0 || (start <= last && state.log[start - 1] === message.previousTerm);
      if (message.term < state.term || !fits) return `no ${state.term}`;
      const own = state.log.slice(start, start + entries.length);
      const agrees = own.every((entry, index) => entry === entries[index]);
      const log = agrees && own.length === entries.length ? state.log : [...state.log.slice(0, start), ...entries];
      const commit = Math.max(state.commit, Math.min(message.commit, start + entries.length));
      state = { ...state, log, commit };
      return `yes ${state.term}`;
    });
    expect([...found, `${state.log.join(" ")} ${state.commit}`]).toEqual(items);
  }
});

test("lock-priority-trace: only the right ones wait or end, and each lock passes from one holder to the next", () => {
  for (const { problem, items } of drawnOf<Answer<PriorityProblem>>(lockPriorityTrace)) {
    const age = (tx: number | undefined): number => problem.begins[tx ?? -1] ?? -1;
    const holders = new Map<string, number>();
    const waiting = new Map<number, string>();
    const ended = new Set<number>();
    for (const [index, item] of items.entries()) {
      const { tx, lock } = problem.events[index] ?? { tx: 0, lock: null };
      const holder = holders.get(lock ?? "");
      const [word = "", ...passed] = item.split(" ");
      expect(word === "skipped").toBe(waiting.has(tx) || ended.has(tx));
      if (word === "wounds") expect(age(tx)).toBeLessThan(age(holder));
      if (word === "dies") expect(age(tx)).toBeGreaterThan(age(holder));
      if (word === "waits") expect(age(tx) < age(holder)).toBe(problem.rule === "wait-die");
      if (word === "granted") expect([undefined, tx]).toContain(holder);
      const victim = word === "wounds" ? holder : word === "dies" || word === "commits" ? tx : undefined;
      if (victim !== undefined) {
        ended.add(victim);
        waiting.delete(victim);
        for (const [name, owner] of holders) if (owner === victim) holders.delete(name);
      }
      for (const hand of passed) {
        const [who = "", name = ""] = hand.split("=");
        const next = Number(who.slice(1)) - 1;
        expect(holders.has(name)).toBe(false);
        expect(next === tx || waiting.get(next) === name).toBe(true);
        waiting.delete(next);
        holders.set(name, next);
      }
      if (word === "granted" && lock !== null) holders.set(lock, tx);
      if (word === "waits" && lock !== null) waiting.set(tx, lock);
      for (const name of new Set(waiting.values())) expect(holders.has(name)).toBe(true);
    }
  }
});
