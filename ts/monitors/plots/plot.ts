/**
 * The reward plot of a run as a standalone SVG: training reward per step as a line, held-out evaluations as points on it.
 *
 * It draws axes, round ticks, a light grid and a legend without a library. Colours are readable on white and on dark pages because the
 * plot has its own background. This file knows no file system.
 */
export interface RewardPlot {
  title: string;
  subtitle: string;
  /**
   * Training, one curve per source: x is the step, y the mean reward; values that are not finite are left out. A run of one source has one
   * curve, which needs no name.
   */
  training: readonly { name: string; points: readonly PlotPoint[] }[];
  /** Held-out evaluation of one source: x is the policy version. */
  evaluations: readonly { name: string; points: readonly PlotPoint[] }[];
}

export interface PlotPoint {
  x: number;
  y: number;
}

const WIDTH = 860;
const HEIGHT = 480;
const MARGIN = { left: 72, right: 68, top: 78, bottom: 92 } as const;
const FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif";
const INK = "#1f2933";
const MUTED = "#66727f";
const GRID = "#e6eaee";
const TRAINING_COLOURS = ["#2f6fdf", "#c2255c", "#5c940d", "#e67700", "#6741d9", "#087f5b"] as const;
const EVALUATION_COLOURS = ["#d9480f", "#2b8a3e", "#862e9c", "#0b7285"] as const;
const MOVING_MEAN_STEPS = 5;
const LABEL_LINE_PX = 15;

interface Curve {
  name: string;
  points: PlotPoint[];
}

interface Scale {
  low: number;
  high: number;
  ticks: number[];
  toPixel(value: number): number;
}

/** The SVG document. With no finite value at all it is an empty frame that says so. */
export function rewardPlot(plot: RewardPlot): string {
  const [training, evaluations] = [plot.training, plot.evaluations].map((curves) =>
    curves
      .map(({ name, points }) => ({ name, points: points.filter(isFinitePoint) }))
      .filter(({ points }) => points.length > 0),
  ) as [Curve[], Curve[]];
  const all = [...training, ...evaluations].flatMap(({ points }) => points);
  const rightmost = all.reduce((most, point) => Math.max(most, point.x), 1);
  const x = scale({ low: 0, high: rightmost, whole: true }, [MARGIN.left, WIDTH - MARGIN.right]);
  const low = all.reduce((least, point) => Math.min(least, point.y), 0);
  const high = all.reduce((most, point) => Math.max(most, point.y), 1);
  const y = scale({ low, high, whole: false }, [HEIGHT - MARGIN.bottom, MARGIN.top]);

  const body = [
    `<rect width="${WIDTH}" height="${HEIGHT}" rx="10" fill="#ffffff"/>`,
    text(MARGIN.left, 34, plot.title, { size: 18, weight: 600 }),
    text(MARGIN.left, 56, plot.subtitle, { size: 12.5, fill: MUTED }),
    ...grid(x, y),
    all.length === 0
      ? text(WIDTH / 2, HEIGHT / 2, "no rewards were logged", { size: 13, fill: MUTED, anchor: "middle" })
      : "",
    ...training.flatMap(({ points }, index) => trainingMarks(points, trainingColour(index), x, y)),
    ...evaluations.map(({ points }, index) => evaluationMarks(points, evaluationColour(index), x, y)),
    ...labelledMarks(
      evaluations.flatMap(({ points }, index) =>
        points.map((point) => ({
          left: x.toPixel(point.x),
          top: y.toPixel(point.y),
          value: point.y,
          colour: evaluationColour(index),
        })),
      ),
    ),
    ...legend(
      training.map(({ name }) => name),
      evaluations.map(({ name }) => name),
    ),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" font-family="${FONT}">`,
    `<title>${escapeXml(plot.title)}</title>`,
    ...body.filter((line) => line !== ""),
    "</svg>",
    "",
  ].join("\n");
}

/** Round tick positions that cover [low, high], about `count` of them. */
export function ticks(low: number, high: number, count: number, whole: boolean): number[] {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate * power >= rough * 0.999) ?? 10;
  const step = whole ? Math.max(1, Math.ceil(factor * power)) : factor * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

function scale(
  { low, high, whole }: { low: number; high: number; whole: boolean },
  [from, to]: readonly [number, number],
): Scale {
  const marks = ticks(low, high, whole ? 8 : 5, whole);
  // A step axis ends where the data ends, so that the line uses the whole width; a value axis ends on a tick.
  const ends = whole ? { low, high } : { low: marks[0] ?? low, high: marks.at(-1) ?? high };
  return {
    ...ends,
    ticks: marks.filter((mark) => mark >= ends.low && mark <= ends.high),
    toPixel: (value) => from + ((value - ends.low) / (ends.high - ends.low)) * (to - from),
  };
}

function grid(x: Scale, y: Scale): string[] {
  const bottom = HEIGHT - MARGIN.bottom;
  const right = WIDTH - MARGIN.right;
  const decimals = Math.max(...y.ticks.map((mark) => (String(mark).split(".")[1] ?? "").length));
  return [
    ...y.ticks.flatMap((mark) => [
      `<line x1="${MARGIN.left}" y1="${px(y.toPixel(mark))}" x2="${right}" y2="${px(y.toPixel(mark))}" stroke="${GRID}"/>`,
      text(MARGIN.left - 10, y.toPixel(mark) + 4, mark.toFixed(decimals), { size: 12, fill: MUTED, anchor: "end" }),
    ]),
    ...x.ticks.flatMap((mark) => [
      `<line x1="${px(x.toPixel(mark))}" y1="${bottom}" x2="${px(x.toPixel(mark))}" y2="${bottom + 5}" stroke="${MUTED}"/>`,
      text(x.toPixel(mark), bottom + 20, String(mark), { size: 12, fill: MUTED, anchor: "middle" }),
    ]),
    `<line x1="${MARGIN.left}" y1="${bottom}" x2="${right}" y2="${bottom}" stroke="${MUTED}"/>`,
    text((MARGIN.left + right) / 2, bottom + 42, "training step", { size: 12.5, anchor: "middle" }),
    `<g transform="translate(22 ${(MARGIN.top + bottom) / 2}) rotate(-90)">${text(0, 0, "mean reward", { size: 12.5, anchor: "middle" })}</g>`,
  ];
}

function trainingMarks(points: readonly PlotPoint[], colour: string, x: Scale, y: Scale): string[] {
  const smooth = movingMean(points, MOVING_MEAN_STEPS);
  const dots = points.map((point) => `<circle cx="${px(x.toPixel(point.x))}" cy="${px(y.toPixel(point.y))}" r="2.4"/>`);
  return [
    `<g fill="${colour}" fill-opacity="0.35">${dots.join("")}</g>`,
    `<polyline fill="none" stroke="${colour}" stroke-width="2.5" stroke-linejoin="round" stroke-linecap="round" points="${polyline(smooth, x, y)}"/>`,
  ];
}

interface Mark {
  left: number;
  top: number;
  value: number;
  colour: string;
}

function evaluationMarks(points: readonly PlotPoint[], colour: string, x: Scale, y: Scale): string {
  const sorted = points.toSorted((a, b) => a.x - b.x);
  return `<polyline fill="none" stroke="${colour}" stroke-width="1.5" stroke-dasharray="5 5" stroke-opacity="0.7" points="${polyline(sorted, x, y)}"/>`;
}

/** Points with their values beside them; values at the same step are moved apart until none covers another. */
function labelledMarks(marks: readonly Mark[]): string[] {
  const circles = marks.map(
    ({ left, top, colour }) =>
      `<circle cx="${px(left)}" cy="${px(top)}" r="5.5" fill="${colour}" stroke="#ffffff" stroke-width="2"/>`,
  );
  const lowestByColumn = new Map<number, number>();
  const labels = marks
    .toSorted((a, b) => a.top - b.top)
    .map(({ left, top, value, colour }) => {
      const atEnd = left > WIDTH - MARGIN.right - 1;
      const wanted = atEnd ? top + 4 : top - 11;
      const baseline = Math.max(wanted, (lowestByColumn.get(left) ?? -Infinity) + LABEL_LINE_PX);
      lowestByColumn.set(left, baseline);
      const label = text(left + (atEnd ? 11 : 5), baseline, value.toFixed(3), { size: 12, weight: 600, fill: colour });
      return `<g stroke="#ffffff" stroke-width="3" paint-order="stroke">${label}</g>`;
    });
  return [...circles, ...labels];
}

function legend(training: readonly string[], evaluations: readonly string[]): string[] {
  const entries = [
    ...training.map((name, index) => {
      const what = training.length === 1 ? "training" : name;
      return { label: `${what} (mean of ${MOVING_MEAN_STEPS} steps)`, colour: trainingColour(index), point: false };
    }),
    ...evaluations.map((name, index) => ({ label: `held-out: ${name}`, colour: evaluationColour(index), point: true })),
  ];
  const top = HEIGHT - 22;
  let left: number = MARGIN.left;
  return entries.map(({ label, colour, point }) => {
    const mark = point
      ? `<circle cx="${left + 11}" cy="${top - 4}" r="5" fill="${colour}"/>`
      : `<line x1="${left}" y1="${top - 4}" x2="${left + 22}" y2="${top - 4}" stroke="${colour}" stroke-width="2.5"/>`;
    const entry = mark + text(left + 30, top, label, { size: 12.5 });
    // About 7 px per character of this size; only the space between entries depends on it.
    left += 30 + label.length * 7 + 24;
    return entry;
  });
}

/** Mean over the `window` points around each, over fewer towards the ends so that neither side weighs more. */
function movingMean(points: readonly PlotPoint[], window: number): PlotPoint[] {
  return points.map((point, index) => {
    const reach = Math.min(Math.floor(window / 2), index, points.length - 1 - index);
    const around = points.slice(index - reach, index + reach + 1);
    return { x: point.x, y: around.reduce((sum, { y }) => sum + y, 0) / around.length };
  });
}

function polyline(points: readonly PlotPoint[], x: Scale, y: Scale): string {
  return points.map((point) => `${px(x.toPixel(point.x))},${px(y.toPixel(point.y))}`).join(" ");
}

function text(
  x: number,
  y: number,
  content: string,
  style: { size: number; weight?: number; fill?: string; anchor?: "start" | "middle" | "end" },
): string {
  const weight = style.weight === undefined ? "" : ` font-weight="${style.weight}"`;
  const anchor = style.anchor === undefined ? "" : ` text-anchor="${style.anchor}"`;
  return `<text x="${px(x)}" y="${px(y)}" font-size="${style.size}" fill="${style.fill ?? INK}"${weight}${anchor}>${escapeXml(content)}</text>`;
}

function px(value: number): string {
  return String(Number(value.toFixed(1)));
}

function escapeXml(content: string): string {
  return (
    content
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      // Control characters are not allowed in XML at all.
      .replaceAll(/\p{Cc}/gu, "\ufffd")
  );
}

function isFinitePoint(point: PlotPoint): boolean {
  return Number.isFinite(point.x) && Number.isFinite(point.y);
}

function trainingColour(index: number): string {
  return TRAINING_COLOURS[index % TRAINING_COLOURS.length] ?? INK;
}

function evaluationColour(index: number): string {
  return EVALUATION_COLOURS[index % EVALUATION_COLOURS.length] ?? INK;
}
