/** Rectangles on a strip of a given width, as low as possible. */
import { between } from "../../../../../random/draws.ts";
import { at, range } from "../../../lists.ts";
import { defineGeometry, dice, sortedBy, sum } from "../geometry.ts";

interface Rules {
  readonly width: number;
  /** Whether a rectangle may be turned by a right angle. */
  readonly turns: boolean;
  readonly longest: number;
  /** Heights cost so much for each unit. */
  readonly price: number;
}

interface Data {
  readonly sizes: readonly (readonly [width: number, height: number])[];
}

/** x, y, and 1 where it is turned. */
type Spot = readonly [x: number, y: number, turned: number];

/** Steps for one pass over 500 rectangles, for which each gap looks at all of them. */
const STEPS_OF_PASS = 4;

export const stripPacking = defineGeometry<Rules, Data>({
  id: "strip-packing",
  rules: (rng, sides) => ({
    width: between(rng, 24, 48),
    turns: sides > 0 && rng.integer(2) === 0,
    longest: between(rng, 10, 16) + 2 * sides,
    price: between(rng, 2, 9),
  }),
  draw: (rng, { longest }, size) => ({
    sizes: range(size).map(() => [between(rng, 2, longest), between(rng, 2, longest)]),
  }),
  input: ({ sizes }) => [[sizes.length], ...sizes],
  cost({ width, turns, price }, { sizes }, plan) {
    if (plan.length !== sizes.length) return null;
    const taken = new Set<number>();
    let top = 0;
    for (const [index, [x = -1, y = -1, turned = -1, ...more]] of plan.entries()) {
      const [a, b] = at(sizes, index);
      const [w, h] = turned === 1 ? [b, a] : [a, b];
      if (more.length > 0 || (turned !== 0 && !(turns && turned === 1))) return null;
      if (x < 0 || y < 0 || x + w > width || y > HIGHEST) return null;
      for (let row = y; row < y + h; row++)
        for (let column = x; column < x + w; column++) {
          if (taken.has(row * width + column)) return null;
          taken.add(row * width + column);
        }
      top = Math.max(top, y + h);
    }
    return price * top;
  },
  isThing: () => false,
  plain({ width }, { sizes }) {
    let [x, y, high] = [0, 0, 0];
    return sizes.map(([w, h]): Spot => {
      if (x + w > width) [x, y, high] = [0, y + high, 0];
      const spot = [x, y, 0] as const;
      [x, high] = [x + w, Math.max(high, h)];
      return spot;
    });
  },
  search,
  bound: ({ width, price }, { sizes }) =>
    price * Math.max(Math.ceil(sum(sizes.map(([w, h]) => w * h)) / width), ...sizes.map(([w, h]) => Math.min(w, h))),
  python: {
    constants: ({ width, turns }) => `WIDTH, TURNS = ${width}, ${turns ? "True" : "False"}`,
    plain: `def read():
    return ([tuple(takes(2)) for _ in range(take())],)


def plain(sizes):
    plan, x, y, high = [], 0, 0, 0
    for w, h in sizes:
        if x + w > WIDTH:
            x, y, high = 0, y + high, 0
        plan.append([x, y, 0])
        x, high = x + w, max(high, h)
    return plan
`,
    search: `def lay(sizes, order):
    sky, left, plan, top = [0] * WIDTH, list(order), [None] * len(sizes), 0
    while left:
        y = min(sky)
        x = sky.index(y)
        end = x
        while end < WIDTH and sky[end] == y:
            end += 1
        gap = end - x
        for at, i in enumerate(left):
            w, h = sizes[i]
            if w <= gap:
                turned = 0
                break
            if TURNS and h <= gap:
                w, h, turned = h, w, 1
                break
        else:
            walls = ([sky[x - 1]] if x > 0 else []) + ([sky[end]] if end < WIDTH else [])
            sky[x:end] = [min(walls)] * gap
            continue
        del left[at]
        plan[i] = [x, y, turned]
        sky[x:x + w] = [y + h] * w
        top = max(top, y + h)
    return top, plan


def search(sizes, steps):
    n = len(sizes)
    orders = [
        sorted(range(n), key=lambda i: -sizes[i][0] * 1000 - sizes[i][1]),
        sorted(range(n), key=lambda i: -sizes[i][1] * 1000 - sizes[i][0]),
        sorted(range(n), key=lambda i: -sizes[i][0] * sizes[i][1]),
    ]
    order = orders[0]
    top, plan = lay(sizes, order)
    if steps == 0:
        return plan
    for other in orders[1:]:
        high, found = lay(sizes, other)
        if high < top:
            top, plan, order = high, found, other
    for _ in range(min(300, steps * 500 // (n * n // 100 + 1) // ${STEPS_OF_PASS * 100})):
        a, b = rnd(n), rnd(n)
        other = list(order)
        other.insert(b, other.pop(a))
        high, found = lay(sizes, other)
        if high <= top:
            top, plan, order = high, found, other
    return plan
`,
  },
  stories: [
    "Labels are printed on a roll of paper; the shorter the piece that is used, the better.",
    "Parts are cut from a strip of steel that comes from a coil.",
    "Posters hang on a wall of fixed width, and the wall shall be used from the floor up.",
    "A sheet of sprites of a game has a fixed width.",
  ],
  task: ({ width, turns, price }) =>
    `The strip is ${width} wide. Each rectangle lies with its lower left corner at a point (x, y) with whole numbers from 0 on; rectangles do not overlap and do not leave the strip on its sides. ${turns ? "A rectangle may be turned by a right angle." : "No rectangle is turned."} The cost is ${price} times the height up to which the strip is used.`,
  inputText: "The first line has the number of rectangles; each further line has the width and the height of one.",
  outputText: "one line for each rectangle, in the order of the input: x, y, and 1 if it is turned or 0 if not",
  plainText:
    "it lays the rectangles in their order from left to right, none of them turned, and begins another row above the highest one of the row where the next does not fit",
});

const HIGHEST = 1_000_000;

function lay({ width, turns }: Rules, { sizes }: Data, order: readonly number[]): { top: number; plan: Spot[] } {
  const sky = range(width).map(() => 0);
  const left = [...order];
  const plan: Spot[] = [];
  let top = 0;
  while (left.length > 0) {
    const y = Math.min(...sky);
    const x = sky.indexOf(y);
    let end = x;
    while (end < width && sky[end] === y) end += 1;
    const gap = end - x;
    const found = left.findIndex((index) => at(sizes, index)[0] <= gap || (turns && at(sizes, index)[1] <= gap));
    if (found < 0) {
      const walls = [sky[x - 1], sky[end]].filter((height) => height !== undefined);
      sky.fill(Math.min(...walls), x, end);
      continue;
    }
    const [index = 0] = left.splice(found, 1);
    const [a, b] = at(sizes, index);
    const [w, h, turned] = a <= gap ? [a, b, 0] : [b, a, 1];
    plan[index] = [x, y, turned];
    sky.fill(y + h, x, x + w);
    top = Math.max(top, y + h);
  }
  return { top, plan };
}

/** Fills the lowest gap with the first rectangle of an order that fits, and changes the order. */
function search(rules: Rules, data: Data, steps: number): Spot[] {
  const { sizes } = data;
  const count = sizes.length;
  const orders = [
    sortedBy(count, (index) => -at(sizes, index)[0] * 1000 - at(sizes, index)[1]),
    sortedBy(count, (index) => -at(sizes, index)[1] * 1000 - at(sizes, index)[0]),
    sortedBy(count, (index) => -at(sizes, index)[0] * at(sizes, index)[1]),
  ];
  let order = at(orders, 0);
  let { top, plan } = lay(rules, data, order);
  if (steps === 0) return plan;
  const consider = (other: readonly number[], most: number): void => {
    const tried = lay(rules, data, other);
    if (tried.top <= most) [top, plan, order] = [tried.top, tried.plan, [...other]];
  };
  for (const other of orders.slice(1)) consider(other, top - 1);
  const rnd = dice();
  const passes = Math.floor(
    Math.floor((steps * 500) / (Math.floor((count * count) / 100) + 1)) / (STEPS_OF_PASS * 100),
  );
  for (let pass = Math.min(300, passes); pass > 0; pass--) {
    const [from, to] = [rnd(count), rnd(count)];
    const other = [...order];
    other.splice(to, 0, ...other.splice(from, 1));
    consider(other, top);
  }
  return plan;
}
