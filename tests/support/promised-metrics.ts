/** The names that `configs/metrics.md` promises for every line of a component. */
import { readFile } from "node:fs/promises";

const PAGE = new URL("../../configs/metrics.md", import.meta.url);
const SECTION = "## prime-rl's names, on every line";
const STATS = ["mean", "max", "min", "p10", "p90"];

/** Each name as a pattern: what stands in angle brackets is any name. */
export async function promisedNames(component: string): Promise<RegExp[]> {
  const [, section = ""] = (await readFile(PAGE, "utf8")).split(SECTION);
  const [rows = ""] = section.split("\n## ");
  return rows.split("\n").flatMap((row) => {
    const [, line = "", names = ""] = row.split("|").map((cell) => cell.trim());
    return line === component
      ? [...names.matchAll(/`([^`]+)`/gu)].flatMap(([, name = ""]) => expanded(name).map(pattern))
      : [];
  });
}

/** The promised names that a line does not have. */
export function missing(promised: readonly RegExp[], line: object): string[] {
  const names = Object.keys(line);
  return promised.filter((name) => !names.some((own) => name.test(own))).map(String);
}

function expanded(name: string): string[] {
  const [whole, choices] = /\{([^{}]*)\}/u.exec(name) ?? (name.includes("<stats>") ? ["<stats>", STATS.join(",")] : []);
  if (whole === undefined || choices === undefined) return [name];
  return choices.split(",").flatMap((choice) => expanded(name.replace(whole, choice)));
}

function pattern(name: string): RegExp {
  const escaped = name.replaceAll(/[.*+?^$()|[\]\\]/gu, "\\$&");
  return new RegExp(`^${escaped.replaceAll(/<[^>]+>/gu, ".+")}$`, "u");
}
