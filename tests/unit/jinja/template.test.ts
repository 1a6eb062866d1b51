import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { Template, TemplateFailure, TemplateUnsupported } from "../../../ts/jinja/index.ts";
import { EVERY_TEMPLATE } from "../renderers/every-template.ts";

interface Snippets {
  variables: Record<string, unknown>;
  /** A template and its text; null where jinja2 raises. */
  cases: [string, string | null][];
}

interface Conversations {
  special: Record<string, string>;
  templates: Record<string, string>;
  conversations: Record<string, unknown>[];
  /** Template, conversation, generation prompt, text. */
  cases: [string, number, boolean, string | null][];
}

const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../fixtures/jinja/${name}.json`, import.meta.url), "utf8"));

const now = (): Date => new Date(2026, 2, 7, 4, 5, 9);

/** The text, null where the template fails, `unsupported` where it is refused. */
function rendered(source: string, variables: Record<string, unknown>): string | null {
  try {
    return new Template(source).render(variables, { now });
  } catch (error) {
    if (error instanceof TemplateUnsupported) return "unsupported";
    if (error instanceof TemplateFailure) return null;
    throw error;
  }
}

describe("a template", () => {
  const { variables, cases } = fixture("snippets") as Snippets;

  it("prints what jinja2 prints, and fails where it fails", () => {
    const got = cases.map(([source]) => [source, rendered(source, variables)]);
    const wanted = cases.map(([source, text], index) => [
      source,
      got[index]?.[1] === "unsupported" ? "unsupported" : text,
    ]);
    expect(got).toEqual(wanted);
    const refused = got.filter(([, text]) => text === "unsupported").map(([source]) => source);
    expect(refused).toEqual([
      "{{ (5).real }}",
      "{{ 'abc'.encode() }}",
      "{{ 10 ** 400 / 3 }}",
      "{{ (-8) ** 0.5 }}",
      "{% include 'x' %}",
      "{% print(1) %}",
    ]);
  });

  it("names the part that is not implemented, with the line", () => {
    const render = (): string => new Template("\n{{ 'a' | pprint }}").render({});
    expect(render).toThrow(TemplateUnsupported);
    expect(render).toThrow("line 2: the filter 'pprint' is not implemented");
  });

  it("takes a number for what its JSON is in Python", () => {
    const numbers = { a: 1, b: 1.5, c: 1e20, d: 1e21, e: -0, f: 1e-7, g: NaN };
    expect(new Template("{{ [a, b, c, d, e, f, g] }}").render(numbers)).toBe(
      "[1, 1.5, 100000000000000000000, 1e+21, 0, 1e-07, nan]",
    );
    expect(() => new Template("").render({ a: () => 1 })).toThrow("a holds a function, which is no JSON");
  });
});

describe("the chat templates of this repository", () => {
  const { special, templates, conversations, cases } = fixture("conversations") as Conversations;

  it("are those that the fixture was made with: make it anew when one changes", () => {
    expect(templates).toEqual(EVERY_TEMPLATE);
  });

  it.each(Object.keys(templates))("%s: renders every conversation as jinja2 does", (wanted) => {
    const own = cases.filter(([name]) => name === wanted);
    const got = own.map(([name, index, prompt]) => {
      const conversation = { documents: null, tools: null, ...conversations[index] };
      const variables = { ...special, ...conversation, add_generation_prompt: prompt };
      return [name, index, prompt, rendered(templates[name] ?? "", variables)];
    });
    expect(got).toEqual(own);
  });
});

describe("a template that does not end", () => {
  const loop = (body: string): string =>
    `{% for a in range(100000) %}{% for b in range(1000) %}${body}{% endfor %}{% endfor %}`;

  it("ends by its budget, 10 ** 8 rounds long", () => {
    expect(() => new Template(loop("{{ b }}")).render({})).toThrow("line 1: it does not end");
  });

  it.each([
    loop(""),
    loop("{% set x = text | upper %}"),
    "{% for a in range(100000) %}{% for b in range(1000) if false %}{% endfor %}{% endfor %}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "{% for a in range(100000) %}{% set x = range(100000) | list %}{% endfor %}",
  ])("ends by its budget: %s", (source) => {
    const render = (): string => new Template(source).render({ text: "a".repeat(1 << 20) }, { steps: 100_000 });
    expect(render).toThrow("line 1: it does not end");
  });

  it.each([
    "{% set ns = namespace(x='ab') %}{% for a in range(100000) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "{{ 'x' * 999999999 }}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%.999999999f' % 1 }}",
    "{{ '{:999999999}'.format(1) }}",
    "{{ 'x'.center(999999999) }}",
    "{{ [1] * 999999999 }}",
    "{{ 9 ** 99999999 }}",
    "{{ 10 ** 5000 }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% set ns = namespace(x=[1]) %}{% for a in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
    `{{ ${"(".repeat(5000)}1${")".repeat(5000)} }}`,
    `${"{% if 1 %}".repeat(5000)}${"{% endif %}".repeat(5000)}`,
  ])("and one that grows without end is refused (%#)", (source) => {
    expect(() => new Template(source).render({})).toThrow(TemplateFailure);
  });

  it("has steps for long conversations", () => {
    const messages = Array.from({ length: 10_000 }, (_, index) => ({
      role: index % 2 ? "assistant" : "user",
      content: "x",
    }));
    const text = new Template(EVERY_TEMPLATE["THINKING"] ?? "").render({ messages });
    expect(text.length).toBeGreaterThan(10_000 * 20);
  });
});
