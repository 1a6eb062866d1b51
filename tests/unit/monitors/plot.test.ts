import { describe, expect, it } from "vitest";

import { ticks } from "../../../ts/monitors/plots/plot.ts";
import { type RewardPlot, rewardPlot } from "../../../ts/monitors/index.ts";

const PLOT: RewardPlot = {
  title: "Reward · reverse-text",
  subtitle: "40 steps",
  training: [{ name: "training", points: Array.from({ length: 40 }, (_, i) => ({ x: i + 1, y: 0.5 + i / 100 })) }],
  evaluations: [
    {
      name: "sampled",
      points: [
        { x: 0, y: 0.52 },
        { x: 40, y: 0.943 },
      ],
    },
  ],
};

/** Names of all elements in order; throws when tags do not nest or a text holds a bare `<` or `&`. */
function elements(svg: string): string[] {
  const names: string[] = [];
  const open: string[] = [];
  for (const [, text, closing, name, attributes, empty] of svg.matchAll(
    /([^<]*)<(\/?)([a-z]+)((?:\s+[a-zA-Z0-9:-]+="[^"<]*")*)\s*(\/?)>/g,
  )) {
    if (/&(?!amp;|lt;|gt;|quot;)/.test(`${text}${attributes}`)) throw new Error(`bare & in ${text}`);
    if (closing === "/") {
      if (open.pop() !== name) throw new Error(`</${name}> closes another element`);
    } else {
      names.push(String(name));
      if (empty !== "/") open.push(String(name));
    }
  }
  if (open.length > 0) throw new Error(`not closed: ${open.join(", ")}`);
  if (
    (svg.match(/</g) ?? []).length !== (svg.match(/<\/?[a-z]+(?:\s+[a-zA-Z0-9:-]+="[^"<]*")*\s*\/?>/g) ?? []).length
  ) {
    throw new Error("something that begins with < is no tag");
  }
  return names;
}

function texts(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, content]) => String(content));
}

describe("rewardPlot", () => {
  it("takes a run of more steps than a function can have arguments", () => {
    const points = Array.from({ length: 150_000 }, (_, i) => ({ x: i + 1, y: i % 2 }));
    const svg = rewardPlot({ ...PLOT, training: [{ name: "training", points }] });
    expect(svg.includes(">140000</text>")).toBe(true);
  });

  it("is a well-formed SVG document with a size", () => {
    const svg = rewardPlot(PLOT);
    expect(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ')).toBe(true);
    expect(elements(svg)[0]).toBe("svg");
  });

  it("has one dot per step, one smoothed line, a marked value per evaluation", () => {
    const svg = rewardPlot(PLOT);
    const circles = elements(svg).filter((name) => name === "circle");
    // 40 steps, 2 evaluations, 1 in the legend
    expect(circles).toHaveLength(43);
    expect(svg.match(/<polyline/g)).toHaveLength(2);
    expect(texts(svg)).toEqual(
      expect.arrayContaining(["0.520", "0.943", "held-out: sampled", "training step", "mean reward"]),
    );
  });

  it("puts higher rewards higher and later steps further right", () => {
    const svg = rewardPlot(PLOT);
    const dots = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)" r="2.4"/g)].map(
      ([, x, y]) => [Number(x), Number(y)] as const,
    );
    for (let i = 1; i < dots.length; i++) {
      expect(dots[i]?.[0]).toBeGreaterThan(dots[i - 1]?.[0] ?? NaN);
      expect(dots[i]?.[1]).toBeLessThan(dots[i - 1]?.[1] ?? NaN);
    }
  });

  it("escapes what people may call things", () => {
    const svg = rewardPlot({ ...PLOT, title: 'a <b> & "c"', evaluations: [{ name: "<x>", points: [{ x: 0, y: 0 }] }] });
    expect(() => elements(svg)).not.toThrow();
    expect(texts(svg)).toContain("a &lt;b&gt; &amp; &quot;c&quot;");
  });

  it("leaves out values that are not finite and survives having none", () => {
    const holes = rewardPlot({
      ...PLOT,
      training: [{ name: "training", points: [...(PLOT.training[0]?.points ?? []), { x: 41, y: NaN }] }],
    });
    expect(holes).not.toContain("NaN");
    const empty = rewardPlot({
      ...PLOT,
      training: [{ name: "training", points: [{ x: 1, y: NaN }] }],
      evaluations: [],
    });
    expect(empty).not.toContain("NaN");
    expect(texts(empty)).toContain("no rewards were logged");
    elements(empty);
  });

  it("makes room for negative and large rewards", () => {
    const svg = rewardPlot({
      ...PLOT,
      training: [
        {
          name: "training",
          points: [
            { x: 1, y: -3 },
            { x: 2, y: 12 },
          ],
        },
      ],
      evaluations: [],
    });
    const heights = [...svg.matchAll(/cy="(-?[\d.]+)"/g)].map(([, y]) => Number(y));
    for (const y of heights) {
      expect(y).toBeGreaterThan(0);
      expect(y).toBeLessThan(480);
    }
  });

  it("has a curve with its own colour, and a name, for each of several sources", () => {
    const points = PLOT.training[0]?.points ?? [];
    const svg = rewardPlot({
      ...PLOT,
      training: [
        { name: "maths", points },
        { name: "code", points },
      ],
      evaluations: [],
    });
    const curves = [...svg.matchAll(/<polyline fill="none" stroke="(#\w+)"/g)].map(([, colour]) => colour);
    expect(new Set(curves).size).toBe(2);
    expect(texts(svg)).toEqual(expect.arrayContaining(["maths (mean of 5 steps)", "code (mean of 5 steps)"]));
  });

  it("keeps values at the same step readable", () => {
    const near = [
      { name: "a", points: [{ x: 40, y: 0.95 }] },
      { name: "b", points: [{ x: 40, y: 0.951 }] },
    ];
    const svg = rewardPlot({ ...PLOT, evaluations: near });
    const baselines = [...svg.matchAll(/<text x="[\d.]+" y="([\d.]+)" font-size="12"[^>]*font-weight="600">/g)].map(
      ([, y]) => Number(y),
    );
    expect(baselines).toHaveLength(2);
    expect(Math.abs((baselines[0] ?? 0) - (baselines[1] ?? 0))).toBeGreaterThanOrEqual(14);
  });
});

describe("ticks", () => {
  it("are round and cover the range", () => {
    expect(ticks(0, 1, 5, false)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticks(0, 40, 8, true)).toEqual([0, 5, 10, 15, 20, 25, 30, 35, 40]);
    expect(ticks(0, 3, 8, true)).toEqual([0, 1, 2, 3]);
    expect(ticks(-3, 12, 5, false)).toEqual([-5, 0, 5, 10, 15]);
  });
});
