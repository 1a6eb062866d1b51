import { describe, expect, it } from "vitest";

import {
  bar,
  condensed,
  evaluationLine,
  formatNumber,
  formatSeconds,
  LiveProgress,
  liveBlock,
  PlainProgress,
  type RlStep,
  renderTable,
  sparkline,
  stepLine,
} from "../../../ts/monitors/index.ts";

function step(values: Partial<RlStep> = {}): RlStep {
  return {
    step: 12,
    maxSteps: 40,
    reward: 0.63,
    rewards: {},
    loss: -0.0123,
    entropy: 0.41,
    mismatchKl: 2.3e-6,
    tokensPerSecond: 41_234.4,
    staleness: 0.8,
    maxStaleness: 1,
    gradNorm: 1,
    learningRate: 1e-3,
    seconds: 0.414,
    tokens: 3000,
    onPolicy: undefined,
    metrics: { trainer: {}, orchestrator: {} },
    ...values,
  };
}

const ESCAPE = "\u001b";
const TOKEN = new RegExp(`${ESCAPE}\\[(\\??\\d*)([A-Za-z])|\\r|\\n|[^${ESCAPE}\\r\\n]+`, "g");
const UP = new RegExp(`^${ESCAPE}\\[(\\d+)A$`);

/** What a terminal shows after these writes: enough of one for the sequences that we send. */
class Screen {
  readonly lines: string[] = [""];
  #row = 0;

  write(text: string): void {
    for (const [token] of text.matchAll(TOKEN)) {
      const up = UP.exec(token);
      if (up !== null) this.#row = Math.max(0, this.#row - Number(up[1]));
      else if (token === "\u001b[0J") this.lines.splice(this.#row, this.lines.length, "");
      else if (token === "\n") this.#row += 1;
      else if (!token.startsWith("\u001b") && token !== "\r")
        this.lines[this.#row] = (this.lines[this.#row] ?? "") + token;
    }
  }
}

describe("sparkline", () => {
  it("spreads the values over eight heights", () => {
    expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8)).toBe("▁▂▃▄▅▆▇█");
  });
  it("shows the last values that fit", () => {
    expect(sparkline([100, 0, 7], 2)).toBe("▁█");
  });
  it("draws equal values low and missing ones as gaps", () => {
    expect(sparkline([0.5, NaN, 0.5], 5)).toBe("▁ ▁");
    expect(sparkline([], 5)).toBe("");
    expect(sparkline([1, 2], 0)).toBe("");
  });
});

describe("bar", () => {
  it("always has its width and fills by eighths", () => {
    expect(bar(0, 4)).toBe("░░░░");
    expect(bar(0.5, 4)).toBe("██░░");
    expect(bar(0.53125, 4)).toBe("██▏░");
    expect(bar(1, 4)).toBe("████");
    for (let i = 0; i <= 100; i++) expect(Array.from(bar(i / 100, 17))).toHaveLength(17);
  });
  it("clamps values out of range", () => {
    expect(bar(7, 3)).toBe("███");
    expect(bar(-1, 3)).toBe("░░░");
    expect(bar(NaN, 3)).toBe("░░░");
  });
});

describe("plain lines", () => {
  it("gives one line per step in the fixed form", () => {
    expect(stepLine(step())).toBe(
      "Step 12/40 | 0.41s | Reward 0.6300 | Loss -0.0123 | Entropy 0.4100 | Mismatch KL 2.3e-6 | Tokens/s 41,234 | Staleness 0.80",
    );
  });
  it("shows missing numbers as a dash, and an endless run without its length", () => {
    expect(stepLine(step({ maxSteps: null, reward: undefined, mismatchKl: 0 }))).toContain(
      "Step 12 | 0.41s | Reward – |",
    );
    expect(stepLine(step({ mismatchKl: 0 }))).toContain("Mismatch KL 0 |");
  });
  it("shows an evaluation with its metrics", () => {
    const report = { source: "reverse-text", version: 40, reward: 0.951, metrics: { exact_match: 0.7 }, num: 256 };
    expect(evaluationLine(report)).toBe(
      "Evaluated reverse-text | Policy v40 | Reward 0.9510 | exact_match 0.7000 | 256 rollouts",
    );
  });
  it("writes whole lines and thins out the supervised steps", () => {
    const written: string[] = [];
    const view = new PlainProgress((text) => written.push(text));
    for (let i = 1; i <= 1000; i++) {
      view.show({ type: "sft-step", step: { step: i, maxSteps: 1000, loss: 1, tokensPerSecond: 1, learningRate: 1 } });
    }
    view.show({ type: "step", step: step() });
    view.end();
    expect(written.every((text) => text.endsWith("\n") && !text.includes("\u001b"))).toBe(true);
    expect(written).toHaveLength(22);
    expect(written.at(-2)).toContain("SFT step 1000/1000");
  });

  it("has a line for every supervised step that validated", () => {
    const written: string[] = [];
    const view = new PlainProgress((text) => written.push(text));
    const common = { maxSteps: 1000, loss: 1, tokensPerSecond: 1, learningRate: 1 };
    view.show({ type: "sft-step", step: { step: 7, ...common } });
    view.show({ type: "sft-step", step: { step: 8, ...common, valLoss: 0.5 } });
    view.end();
    expect(written.map((text) => text.includes("SFT step 8/1000 | Loss 1"))).toEqual([true]);
    expect(written[0]).toMatch(/Val loss 0\.50*/u);
  });
});

const evaluated = (version: number, reward: number) => ({ source: "held", version, reward, metrics: {}, num: 1 });

describe("condensed", () => {
  it("stands for all values, in order, without those that are not finite", () => {
    expect(condensed([1, 2, 3], 3)).toEqual([1, 2, 3]);
    expect(condensed([1, 3, NaN, 5, 7, 9], 3)).toEqual([2, 5, 8]);
    for (let n = 1; n < 200; n += 7) expect(condensed(Array(n).fill(2), 9)).toEqual(Array(Math.min(n, 9)).fill(2));
  });
});

describe("live block", () => {
  const state = {
    title: "run",
    phase: "training" as const,
    maxSteps: 40,
    steps: [step()],
    sft: [],
    evaluations: [],
    restarts: 0,
    load: null,
    download: null,
    elapsed: 61,
    frame: 0,
  };

  it("shows everything that is promised", () => {
    const text = liveBlock(state, 100, false).join("\n");
    for (const part of ["12/40", "█", "0.6300", "▁", "Loss -0.0123", "Entropy 0.4100", "Mismatch KL 2.3e-6"])
      expect(text).toContain(part);
    for (const part of ["41,234 tokens/s", "Staleness 0.80 (max 1)", "training", "1m 01s", "11.6s to go", "Policy v12"])
      expect(text).toContain(part);
    const more = { restarts: 2, evaluations: [evaluated(0, 0.25), evaluated(10, 0.75)] };
    const all = liveBlock({ ...state, ...more }, 100, false).join("\n");
    expect(all).toContain("2 restarts");
    expect(all).toContain("held 0.2500 → 0.7500");
  });

  it("shows a run of any length", () => {
    const common = step({ reward: 0.25 });
    const steps = Array.from({ length: 150_000 }, () => common).with(1, step({ reward: 0.75 }));
    expect(liveBlock({ ...state, maxSteps: null, steps }, 100, false).join("\n")).toContain("best 0.7500");
  });

  it("shows the progress within a step, also before the first one, until the run is over", () => {
    const load = {
      step: 13,
      version: 11,
      batch: { ready: 48, size: 128, unit: "rollouts" as const },
      rollouts_in_flight: 1096,
      groups_open: 12,
      groups_queued: 6,
      evaluating: 0,
      engines: { running: 40, waiting: 8, kv_usage: 0.634 },
    };
    for (const steps of [[step()], []]) {
      const text = liveBlock({ ...state, steps, load }, 100, false).join("\n");
      expect(text).toMatch(/Next +48 █+.* of 128 rollouts for step 13/u);
      expect(text).toContain("1,096 rollouts under way  6 groups queued  1 batch with the trainer");
      expect(text).toContain("40 running  8 waiting  KV cache 63 %");
    }
    const silent = liveBlock({ ...state, load: { ...load, version: 12, engines: null } }, 100, false).join("\n");
    expect(silent).not.toMatch(/Engines|with the trainer/u);
    expect(liveBlock({ ...state, load, frame: -1 }, 100, false).join("\n")).not.toContain("Next");
  });
  it("shows a supervised stage by itself, with its validation", () => {
    const common = { maxSteps: 100, tokensPerSecond: 1234, learningRate: 0.001, seconds: 2 };
    const sft = [1, 2, 3].map((n) => ({ ...common, step: n, loss: 4 - n, valLoss: n === 3 ? undefined : 5 - n }));
    const text = liveBlock({ ...state, steps: [], sft }, 100, false).join("\n");
    for (const part of [
      "SFT",
      "3/100",
      "2.00s/step",
      "3m 14s to go",
      "1.0000",
      "█▅▁",
      "Val",
      "3.0000",
      "1,234 tokens/s",
    ])
      expect(text).toContain(part);
  });
  it("never grows wider than the terminal", () => {
    const steps = Array.from({ length: 300 }, (_, i) => step({ step: i + 1, reward: i / 300 }));
    for (const columns of [20, 40, 80, 200]) {
      for (const line of liveBlock({ ...state, steps, title: "t".repeat(90) }, columns, false)) {
        expect(Array.from(line).length).toBeLessThanOrEqual(columns);
      }
    }
  });
  it("colours only when asked to", () => {
    expect(liveBlock(state, 100, false).join("")).not.toContain("\u001b");
    expect(liveBlock(state, 100, true).join("")).toContain("\u001b[");
  });
  it("redraws in place: notes stay above, one block below", () => {
    const screen = new Screen();
    const view = new LiveProgress({ write: (text) => screen.write(text), columns: 80, colour: false }, "run");
    view.show({ type: "started", runDir: "/runs/a", maxSteps: 40 });
    view.show({ type: "phase", phase: "training" });
    view.show({ type: "step", step: step({ step: 1 }) });
    view.show({ type: "note", message: "first note" });
    view.show({ type: "step", step: step({ step: 40 }) });
    view.end();
    const shown = screen.lines.filter((line) => line !== "");
    expect(shown.slice(0, 2)).toEqual(["Run directory /runs/a", "first note"]);
    expect(shown.filter((line) => line.startsWith("Step"))).toEqual([expect.stringContaining("40/40")]);
    expect(shown.slice(2).map((line) => line.split(" ")[0])).toEqual([
      "RL",
      "Step",
      "Reward",
      "Policy",
      "Speed",
      "Async",
    ]);
  });
});

describe("numbers for people", () => {
  it("never shows a small value as 0", () => {
    expect(formatNumber(0.00004)).toBe("4.0e-5");
    expect(formatNumber(-0.5)).toBe("-0.5000");
    expect(formatNumber(0)).toBe("0");
  });
  it("writes durations by size", () => {
    expect([0.414, 12.34, 60, 185, 7500].map(formatSeconds)).toEqual(["0.41s", "12.3s", "1m 00s", "3m 05s", "2h 05m"]);
  });
});

describe("renderTable", () => {
  it("aligns names left and values right", () => {
    expect(
      renderTable(
        ["source", "before"],
        [
          ["reverse-text", "0.5"],
          ["x", "10.25"],
        ],
      ),
    ).toEqual(["source        before", "────────────  ──────", "reverse-text     0.5", "x              10.25"]);
  });
});
