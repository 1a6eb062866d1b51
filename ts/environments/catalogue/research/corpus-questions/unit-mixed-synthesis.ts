/** unit-mixed-synthesis: one sum from deliveries in old measures and several currencies, whose values changed over the years. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { fractionText } from "../../math/exact-answer.ts";
import { corpus, sentence } from "../documents.ts";
import { fieldRow, type Solution } from "../../field-row.ts";

/** One of the larger is so many of the smaller one; from `year` on it is `later` of them. */
interface Scale {
  larger: string;
  smaller: string;
  factor: number;
  year: number;
  later: number;
}

interface Delivery {
  year: number;
  port: number;
  amount: number;
  /** Place in the chain of measures, 0 is the smallest. */
  measure: number;
  price: number;
  /** Measure and coin of the price. */
  per: number;
  coin: number;
}

interface Given {
  ports: string[];
  /** `measures[i]`: unit i + 1 in units i. */
  measures: Scale[];
  coins: Scale[];
  deliveries: Delivery[];
  query: { port: number; from: number; to: number };
  order: number[];
}

/** By level: deliveries, larger measures, larger coins, ports, whether values change. */
const SIZES = [
  [4, 1, 0, 1, false],
  [6, 1, 1, 2, false],
  [8, 2, 1, 2, true],
  [11, 2, 2, 3, true],
  [15, 3, 3, 3, true],
] as const;

export const unitMixedSynthesis = fieldRow<Given>({
  id: "unit-mixed-synthesis",
  asks: "the value of some deliveries whose amounts and prices stand in different measures and coins that changed with time",
  draw,
  solve,
  values: ({ coins }) =>
    `the value in ${at(coinNames(coins), 0)} as a number without a unit (a fraction such as 7/3 where it is not whole)`,
  wordings: [
    (one, rng) => `${shown(one, rng)}\n\n${asked(one)}`,
    (one, rng) =>
      `${asked(one)}\n\nEach delivery is to be valued by the measures and coins that held in its year. Sources:\n${shown(one, rng)}`,
    (one, rng) =>
      `An economist reads old accounts:\n${shown(one, rng)}\n\n${asked(one)} A change of a measure or coin holds for deliveries of its year and all later ones.`,
    (one, rng) =>
      `Accounts and decrees, unsorted.\n${shown(one, rng)}\n\n${asked(one)} (Decrees count from the year that they name on, that year included; older deliveries keep the older values.)`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, measureCount, coinCount, portCount, isChanging] = at(SIZES, level - 1);
  const words = distinct(measureCount + coinCount + 2, () => word(rng, 2));
  const chain = (size: number): Scale[] => {
    const units = words.splice(0, size + 1);
    return range(size).map((index) => {
      const factor = between(rng, 3, 15);
      const later = isChanging ? factor + between(rng, 1, 4) : factor;
      return { larger: at(units, index + 1), smaller: at(units, index), factor, year: between(rng, 1850, 1860), later };
    });
  };
  const measures = chain(measureCount);
  const coins = coinCount === 0 ? [] : chain(coinCount);
  const deliveries = range(count).map((): Delivery => ({
    year: between(rng, 1843, 1868),
    port: rng.integer(portCount),
    amount: between(rng, 2, 60),
    measure: rng.integer(measureCount + 1),
    price: between(rng, 2, 30),
    per: rng.integer(measureCount + 1),
    coin: rng.integer(coinCount + 1),
  }));
  const all = distinct(portCount, () => name(rng));
  const query = {
    port: rng.integer(portCount),
    from: level === 1 ? 1840 : between(rng, 1843, 1847),
    to: level === 1 ? 1870 : between(rng, 1863, 1867),
  };
  const order = shuffled(range(count + measureCount + coinCount), rng);
  return { ports: all, measures, coins, deliveries, query, order };
}

function coinNames(coins: readonly Scale[]): string[] {
  return coins.length === 0 ? ["marks"] : [at(coins, 0).smaller, ...coins.map(({ larger }) => larger)];
}

function solve(one: Given): Solution | null {
  const { deliveries, query, measures, coins } = one;
  const chosen = deliveries.filter(({ port, year }) => port === query.port && year >= query.from && year <= query.to);
  if (chosen.length < 2 || (one.ports.length > 1 && chosen.length === deliveries.length)) return null;
  if (!chosen.some(({ measure, per }) => measure !== per)) return null;
  const old = (scales: readonly Scale[]): Scale[] => scales.map((scale) => ({ ...scale, later: scale.factor }));
  const value = valueOf(chosen, measures, coins);
  const isChanging = measures.some(({ factor, later }) => factor !== later);
  const slips = [
    valueOf(
      chosen.map((delivery) => ({ ...delivery, per: delivery.measure })),
      measures,
      coins,
    ),
    ...(isChanging ? [valueOf(chosen, old(measures), coins)] : []),
    ...(chosen.some(({ coin }) => coin > 0)
      ? [
          valueOf(
            chosen.map((delivery) => ({ ...delivery, coin: 0 })),
            measures,
            coins,
          ),
        ]
      : []),
    ...(one.ports.length > 1 ? [valueOf(deliveries, measures, coins)] : []),
  ];
  const steps = chosen.reduce(
    (sum, { measure, per, coin }) => sum + 1 + Math.abs(measure - per) + coin,
    one.order.length,
  );
  return { fields: [{ name: "value", kind: "number", value }], slips: slips.map((slip) => [slip]), steps };
}

/** Exact, in the smallest coin. */
function valueOf(deliveries: readonly Delivery[], measures: readonly Scale[], coins: readonly Scale[]): string {
  let [top, bottom] = [0n, 1n];
  for (const { year, amount, measure, price, per, coin } of deliveries) {
    const size = (scales: readonly Scale[], unit: number): bigint =>
      scales
        .slice(0, unit)
        .reduce((product, scale) => product * BigInt(year >= scale.year ? scale.later : scale.factor), 1n);
    const valueTop = BigInt(amount * price) * size(measures, measure) * size(coins, coin);
    const valueBottom = size(measures, per);
    [top, bottom] = [top * valueBottom + valueTop * bottom, bottom * valueBottom];
  }
  return fractionText(top, bottom) ?? "";
}

function asked({ ports, query, coins, measures }: Given): string {
  const smallest = at(coinNames(coins), 0);
  return `What was the value, in ${smallest}, of all that was delivered to ${at(ports, query.port)} from ${query.from} to ${query.to} (both years included)? The smallest measure is the ${at(measures, 0).smaller}.`;
}

function shown(one: Given, rng: Rng): string {
  const { ports, measures, coins, deliveries, order } = one;
  const units = [at(measures, 0).smaller, ...measures.map(({ larger }) => larger)];
  const money = coinNames(coins);
  const scales = [...measures, ...coins];
  const texts = order.map((place) => {
    const scale = scales[place - deliveries.length];
    if (scale !== undefined) return decree(scale);
    const { year, port, amount, measure, price, per, coin } = at(deliveries, place);
    const [what, cost] = [
      `${amount} ${at(units, measure)} of grain`,
      `${price} ${at(money, coin)} for each ${at(units, per)}`,
    ];
    return sentence(
      rng.pick([
        `in ${year} ${at(ports, port)} received ${what} at ${cost}`,
        `${what} went to ${at(ports, port)} in ${year}; the price was ${cost}`,
        `${year}, ${at(ports, port)}: ${what}, paid with ${cost}`,
      ]),
    );
  });
  return corpus(texts, rng);

  function decree({ larger, smaller, factor, year, later }: Scale): string {
    if (factor === later)
      return sentence(rng.pick([`one ${larger} has ${factor} ${smaller}`, `${factor} ${smaller} make one ${larger}`]));
    return rng.pick([
      `By decree one ${larger} has ${later} ${smaller} from ${year} on; it had ${factor} until then.`,
      `Before ${year} there were ${factor} ${smaller} in one ${larger}, and from that year on there are ${later}.`,
    ]);
  }
}
