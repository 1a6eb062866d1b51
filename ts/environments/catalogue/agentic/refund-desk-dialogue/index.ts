/** refund-desk-dialogue: cases of customers who lie, press and change their minds are settled exactly as a policy says. */
import { z } from "zod";

import { at } from "../../lists.ts";
import { defineWorldRow, type Family, type WorldRow, worldTool } from "../../row.ts";
import { call, recordName } from "../records.ts";
import { asked, blanket, handled, type Neglect } from "./clerk.ts";
import { Desk } from "./desk.ts";
import { drawInstance, trapsOf } from "./generator.ts";
import { grade, passedParts, rightDecision } from "./grade.ts";
import type { Instance } from "./instance.ts";
import { OUTCOMES } from "./policy.ts";
import { PROMPTS } from "./wordings.ts";

const SLIPS: Readonly<Record<Neglect, string>> = {
  claims: "believes what customers say against records",
  answers: "settles without hearing the answer",
  drift: "keeps to the first wish",
  reports: "takes another order's report for this one's",
  pressure: "gives in",
  clauses: "knows the first three clauses only",
  opening: "does not ask whether an item was opened",
};

const nothing = z.object({});
const decisionShape = {
  case: recordName,
  outcome: z.enum(OUTCOMES),
  amount: z.int().min(0).max(100_000).describe("in coins; 0 but for refund and voucher"),
};

const tools = {
  list_cases: worldTool<Desk, typeof nothing>({
    description: "The open cases with their orders and customers",
    parameters: nothing,
    run: ({ instance }) => instance.cases.map(({ id, order, customer }) => ({ case: id, order, customer })),
  }),
  read_case: worldTool({
    description: "The customer's message",
    parameters: z.object({ case: recordName }),
    run: (desk: Desk, { case: id }) => desk.message(id),
  }),
  look_up: worldTool({
    description: "The record of an order, a customer or an inspection report; null if there is none",
    parameters: z.object({ record: recordName }),
    run: (desk: Desk, { record }) => ({ record: desk.record(record) }),
  }),
  ask_whether_opened: worldTool({
    description: "Asks the customer whether the item has been opened",
    parameters: z.object({ case: recordName }),
    run: (desk: Desk, { case: id }) => desk.saysOpened(id),
  }),
  offer: worldTool({
    description: "Says to the customer how the case would be settled, and brings the answer",
    parameters: z.object(decisionShape),
    run: (desk: Desk, { case: id, ...decision }) => desk.offer(id, decision),
  }),
  settle: worldTool({
    description: "Settles a case by what was offered last; this is final",
    parameters: z.object(decisionShape),
    run: (desk: Desk, { case: id, ...decision }) => {
      desk.settle(id, decision);
      return "settled";
    },
  }),
};

const row: WorldRow = defineWorldRow<Instance, Desk>({
  id: "refund-desk-dialogue",
  asks: "settle cases by a policy with exceptions, from records and customers who lie, press and change their minds",
  make: drawInstance,
  effort: (instance) => handled(instance).calls.length + instance.cases.length * instance.policy.options.length,
  canonical: ({ policy, cases }) => [policy, cases.map(({ facts, turns }) => [facts, turns.map(({ turn }) => turn)])],
  prompts: PROMPTS,
  tools,
  world: (instance) => new Desk(instance),
  gold: (instance) => handled(instance).calls,
  slips: (instance) => ({
    ...Object.fromEntries(trapsOf(instance).map((trap) => [SLIPS[trap], handled(instance, trap).calls])),
    "leaves the last case open": handled(instance).calls.slice(0, -1),
    "pays a coin too much": oneCoin(instance),
    "declines all": blanket(instance, () => ({ outcome: "decline", amount: 0 })),
  }),
  blankets: (instance) => ({
    "declines all": blanket(instance, () => ({ outcome: "decline", amount: 0 })),
    "escalates all": blanket(instance, () => ({ outcome: "escalate", amount: 0 })),
    "gives what is asked for": blanket(instance, asked),
    "gives vouchers": blanket(instance, ({ facts }) => ({ outcome: "voucher", amount: facts.price })),
  }),
  grade: (instance, { settled }) => grade(instance, settled),
  parts: (instance, { settled }) => passedParts(instance, settled),
});

export const refundDeskDialogue: Family<WorldRow> = { id: "refund-desk-dialogue", rows: [row] };

/** The gold script with another last decision. */
function oneCoin(instance: Instance): ReturnType<WorldRow["gold"]> {
  const { calls } = handled(instance);
  const last = at(instance.cases, instance.cases.length - 1);
  const { outcome, amount } = rightDecision(instance, last);
  const other =
    outcome === "refund" || outcome === "voucher"
      ? { outcome, amount: amount + 1 }
      : { outcome: "refund", amount: last.facts.price };
  const args = { case: last.id, ...other };
  return [...calls.slice(0, -1), call("offer", args), call("settle", args)];
}
