/** customer-merge: accounts of one customer are found by chains of contact data and merged, accounts of namesakes are not. */
import { z } from "zod";

import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import {
  aboveBase,
  batches,
  call,
  changedShare,
  type Facts,
  namesOf,
  pageOf,
  pageStart,
  recordName,
  recordNames,
  recordOf,
} from "../records.ts";

interface Account {
  id: string;
  name: string;
  email: string;
  phone: string;
  /** Day of its opening; the earliest account of a customer stays. */
  opened: number;
}

interface Deal {
  id: string;
  account: string;
  product: string;
  open: boolean;
  day: number;
}

interface Instance {
  accounts: Account[];
  deals: Deal[];
}

interface World {
  readonly instance: Instance;
  /** The account into which an account was merged. */
  readonly into: Map<string, string>;
  readonly closed: Set<string>;
}

/** By level: customers, most accounts of one, namesakes. */
const SIZES = [
  [4, 2, 1],
  [6, 3, 2],
  [9, 3, 3],
  [13, 4, 4],
  [18, 5, 6],
] as const;
const PAGE = 15;
/** Most that merging by name may get. */
const MOST_BY_NAME = 0.5;
const PRODUCTS = ["storage", "printing", "delivery", "insurance", "training"];

const tools = {
  list_accounts: worldTool<World, typeof pageStart>({
    description: `Accounts that are not merged away, ${PAGE} at a time: name of the record and of the customer`,
    parameters: pageStart,
    run: ({ instance, into }, { from }) =>
      pageOf(
        instance.accounts.filter(({ id }) => !into.has(id)).map(({ id, name: customer }) => ({ id, name: customer })),
        from,
        PAGE,
      ),
  }),
  get_accounts: worldTool({
    description: "All data of accounts with their deals",
    parameters: z.object({ accounts: recordNames }),
    run: (world: World, { accounts }) =>
      accounts.map((id) => {
        const account = recordOf(world.instance.accounts, id, "account");
        const deals = world.instance.deals
          .filter((deal) => rootOf(world.into, deal.account) === id)
          .map(({ id: deal, product, open, day }) => ({
            id: deal,
            product,
            day,
            open: open && !world.closed.has(deal),
          }));
        return { ...account, merged_into: world.into.get(id) ?? null, deals };
      }),
  }),
  merge: worldTool({
    description: "Merges an account into another one, which gets its deals. It cannot be undone",
    parameters: z.object({ account: recordName, into: recordName }),
    run: ({ instance, into }: World, { account, into: target }) => {
      recordOf(instance.accounts, account, "account");
      recordOf(instance.accounts, target, "account");
      if (into.has(account) || into.has(target)) throw new Refusal("one of the accounts is merged away already");
      if (account === target) throw new Refusal("an account cannot be merged into itself");
      into.set(account, target);
      return "merged";
    },
  }),
  close_deal: worldTool({
    description: "Closes an open deal",
    parameters: z.object({ deal: recordName }),
    run: ({ instance, closed }: World, { deal }) => {
      const found = recordOf(instance.deals, deal, "deal");
      if (!found.open || closed.has(deal)) throw new Refusal(`deal ${deal} is closed already`);
      closed.add(deal);
      return "closed";
    },
  }),
};

const SAME =
  "Two e-mail addresses are the same if they agree in small letters, without the dots before the @ and without everything from a + to the @. Two telephone numbers are the same if their digits agree, where a leading 00 stands for +.";

export const customerMerge = defineWorldRow<Instance, World>({
  id: "customer-merge",
  asks: "merge the accounts of one customer, found by chains of contact data, and leave namesakes alone",
  make,
  effort: ({ accounts, deals }) => accounts.length + deals.length,
  canonical: ({ accounts, deals }) => [accounts.map(({ id }) => id).toSorted(), deals.map(({ id }) => id).toSorted()],
  prompts: [
    () =>
      `The customer file has several accounts for some customers. Two accounts belong to one customer if they share an e-mail address or a telephone number, also through further accounts in between; equal names prove nothing. ${SAME}\n\nMerge the accounts of each customer into the one that was opened first. Afterwards no customer may have two open deals for one product: close all but the one of the earliest day. Change nothing else; a merge cannot be undone.`,
    () =>
      `Clean up duplicates. ${SAME}\nAccounts with a common address or number are one customer, and so are accounts that are linked by a chain of such accounts. A common name alone means nothing. The oldest account of a customer survives (opened: a smaller day is older) and takes the others in. Of open deals for the same product of one customer, only the earliest stays open. Wrong merges count against right ones.`,
    () =>
      `Please unite what belongs together in our accounts.\n- One customer: accounts that agree in e-mail or telephone, directly or over other accounts.\n- ${SAME}\n- Names repeat among different people.\n- Every other account of the customer goes into the account opened first.\n- If a customer then has more than one open deal for a product, the ones after the first (by day) are closed.\nDo not touch anything besides.`,
    () =>
      `Duplicates in the customer file have to go. The surviving account is the one with the smallest opening day; merge the rest of the customer into it, and close open deals that the same customer has for the same product as an earlier open deal. Who is the same customer follows from contact data only: equal e-mail or equal telephone links two accounts, and links add up. ${SAME}`,
  ],
  tools,
  world: (instance) => ({ instance, into: new Map(), closed: new Set() }),
  gold: (instance) => script(instance, groupsOf(instance, links(instance, true))),
  slips: (instance) => {
    const groups = groupsOf(instance, links(instance, true));
    const gold = script(instance, groups);
    const twin = namesakes(instance, groups);
    return {
      "merges by name": script(instance, groupsOf(instance, links(instance, true, true))),
      "compares as it is written": script(instance, groupsOf(instance, links(instance, false))),
      "merges no one and closes deals": gold.filter(({ tool }) => tool !== "merge"),
      "closes no deal": [...gold.filter(({ tool }) => tool !== "close_deal"), ...(twin === null ? [] : [twin])],
      "merges namesakes too": twin === null ? gold.slice(0, -1) : [...gold, twin],
      "stops before the end": gold.slice(0, -1),
    };
  },
  blankets: (instance) => ({
    "merges by name": script(instance, groupsOf(instance, links(instance, false, true, false))),
    "merges everything": script(instance, [instance.accounts.map(({ id }) => id)]),
    "closes every open deal": instance.deals
      .filter(({ open }) => open)
      .map(({ id }) => call("close_deal", { deal: id })),
  }),
  // Merging by name counts as nothing.
  grade: (instance, world) => aboveBase(share(instance, factsOf(instance, world)), share(instance, byName(instance))),
});

function make(rng: Rng, level: Level): Instance | null {
  const [customers, most, twins] = at(SIZES, level - 1);
  const names = distinct(customers, () => `${name(rng)} ${name(rng)}`);
  for (let twin = 0; twin < twins; twin++) names[rng.integer(customers)] = at(names, rng.integer(customers));
  const drafts = names.flatMap((customer, index) => {
    // At least a third of the customers have one account.
    const count = index % 3 === 2 ? 1 : between(rng, 1, most);
    const contacts = range(count + 1).map(() => ({ email: emailOf(customer, rng), phone: phoneOf(rng) }));
    return range(count).map((link) => {
      // Account k shares the address or the number of account k - 1, in turns, so a chain needs both.
      const own = at(contacts, link);
      const before = at(contacts, Math.max(0, link - 1));
      const email = link % 2 === 1 ? before.email : own.email;
      const phone = link % 2 === 0 && link > 0 ? before.phone : own.phone;
      contacts[link] = { email, phone };
      // Some write another name, for example that of the firm or of a relative.
      const shown = rng.integer(3) === 0 ? rng.pick(names) : customer;
      return { name: shown, email: written(email, rng), phone: writtenPhone(phone, rng) };
    });
  });
  const ids = namesOf("acc", drafts.length, rng);
  const days = distinct(drafts.length, () => String(rng.integer(3000)));
  const accounts = shuffled(drafts, rng).map((draft, index) => ({
    id: at(ids, index),
    ...draft,
    opened: Number(at(days, index)),
  }));
  const deals = namesOf("deal", Math.ceil(1.5 * accounts.length), rng).map((id, index): Deal => ({
    id,
    account: at(accounts, index % accounts.length).id,
    product: rng.pick(PRODUCTS.slice(0, 3 + Math.floor(level / 3))),
    open: rng.integer(4) !== 0,
    day: 1 + 7 * index + rng.integer(7),
  }));
  const instance = { accounts, deals: shuffled(deals, rng) };
  const groups = groupsOf(instance, links(instance, true));
  const plain = groupsOf(instance, links(instance, false));
  const isLinked = groups.length < accounts.length - 1 && groups.length !== plain.length;
  const closing = script(instance, groups).filter(({ tool }) => tool === "close_deal").length;
  if (!isLinked || closing === 0 || namesakes(instance, groups) === null) return null;
  return share(instance, byName(instance)) < MOST_BY_NAME ? instance : null;
}

function emailOf(customer: string, rng: Rng): string {
  return `${customer.toLowerCase().replace(" ", "")}${rng.integer(90) + 10}@${word(rng)}.example`;
}

function phoneOf(rng: Rng): string {
  return `${between(rng, 30, 49)}${between(rng, 100_000_000, 999_999_999)}`;
}

/** An address as one of its owners may write it. */
function written(email: string, rng: Rng): string {
  const [user = "", host = ""] = email.split("@");
  const cut = between(rng, 2, user.length - 2);
  const dotted = rng.integer(2) === 0 ? user : `${user.slice(0, cut)}.${user.slice(cut)}`;
  const tagged = rng.integer(3) === 0 ? `${dotted}+${word(rng, 1)}` : dotted;
  return rng.integer(4) === 0 ? `${tagged.toUpperCase()}@${host}` : `${tagged}@${host}`;
}

function writtenPhone(digits: string, rng: Rng): string {
  const groups = [digits.slice(0, 2), digits.slice(2, 5), digits.slice(5)];
  return `${rng.pick(["+", "00"])}${groups.join(rng.pick([" ", "-", "/", ""]))}`;
}

function sameEmail(text: string): string {
  const [user = "", host = ""] = text.toLowerCase().split("@");
  return `${user.replace(/\+.*/u, "").replaceAll(".", "")}@${host}`;
}

function samePhone(text: string): string {
  return text.replace(/^00/u, "+").replaceAll(/\D/gu, "");
}

/** Keys of each account; accounts with a common key are one customer. */
function links({ accounts }: Instance, isNormal: boolean, usesNames = false, usesContacts = true): string[][] {
  return accounts.map(({ name: customer, email, phone }) => [
    ...(usesContacts ? (isNormal ? [sameEmail(email), samePhone(phone)] : [email, phone]) : []),
    ...(usesNames ? [customer] : []),
  ]);
}

/** The accounts of each customer: classes of the links. */
function groupsOf({ accounts }: Instance, keys: readonly (readonly string[])[]): string[][] {
  let groups: { ids: string[]; keys: Set<string> }[] = [];
  for (const [index, { id }] of accounts.entries()) {
    const own = new Set(at(keys, index));
    const joined = groups.filter((group) => [...group.keys].some((key) => own.has(key)));
    groups = groups.filter((group) => !joined.includes(group));
    groups.push({
      ids: [...joined.flatMap(({ ids }) => ids), id],
      keys: new Set([...own, ...joined.flatMap((group) => [...group.keys])]),
    });
  }
  return groups.map(({ ids }) => ids);
}

/** A merge of two customers of one name; null without any. */
function namesakes({ accounts }: Instance, groups: readonly (readonly string[])[]): Call | null {
  const first = groups.map((ids) => firstOf(accounts, ids));
  for (const a of first) {
    const b = first.find((other) => other !== a && other.name === a.name);
    if (b !== undefined) return call("merge", { account: a.id, into: b.id });
  }
  return null;
}

function firstOf(accounts: readonly Account[], ids: readonly string[]): Account {
  return at(
    accounts.filter(({ id }) => ids.includes(id)).toSorted((a, b) => a.opened - b.opened),
    0,
  );
}

/** Reads all accounts, merges the groups and closes the deals that come twice then. */
function script(instance: Instance, groups: readonly (readonly string[])[]): Script {
  const { accounts, deals } = instance;
  const ids = accounts.map(({ id }) => id);
  const merges = groups.flatMap((group) => {
    const into = firstOf(accounts, group).id;
    return group.filter((id) => id !== into).map((account) => call("merge", { account, into }));
  });
  const closes = groups.flatMap((group) => {
    const open = deals.filter(({ account, open: isOpen }) => isOpen && group.includes(account));
    const later = open.filter(({ product, day }) => open.some((other) => other.product === product && other.day < day));
    return later.map(({ id }) => call("close_deal", { deal: id }));
  });
  return [
    ...range(Math.ceil(ids.length / PAGE)).map((page) => call("list_accounts", { from: page * PAGE })),
    ...batches(ids, PAGE).map((some) => call("get_accounts", { accounts: some })),
    ...merges,
    ...closes,
  ];
}

function rootOf(into: ReadonlyMap<string, string>, id: string): string {
  const next = into.get(id);
  return next === undefined ? id : rootOf(into, next);
}

function factsOf({ accounts, deals }: Instance, { into, closed }: World): Facts {
  return Object.fromEntries([
    ...accounts.map(({ id }) => [id, rootOf(into, id)] as const),
    ...deals.map(({ id, open }) => [id, open && !closed.has(id)] as const),
  ]);
}

function share(instance: Instance, facts: Facts): number {
  const untouched = factsOf(instance, { instance, into: new Map(), closed: new Set() });
  return changedShare(untouched, factsAfter(instance, groupsOf(instance, links(instance, true))), facts);
}

function byName(instance: Instance): Facts {
  return factsAfter(instance, groupsOf(instance, links(instance, false, true, false)));
}

/** The facts after these groups were merged. */
function factsAfter(instance: Instance, groups: readonly (readonly string[])[]): Facts {
  const world: World = { instance, into: new Map(), closed: new Set() };
  for (const { tool, args } of script(instance, groups)) {
    if (tool === "merge") world.into.set(String(args["account"]), String(args["into"]));
    if (tool === "close_deal") world.closed.add(String(args["deal"]));
  }
  return factsOf(instance, world);
}
