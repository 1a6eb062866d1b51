/** Templates made of pieces of the language in any order: each renders, or ends with a named failure within its steps. */
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { Template, TemplateFailure, TemplateUnsupported } from "../../../ts/jinja/index.ts";
import { IS_LONG } from "../../support/form.ts";

const NUM_RUNS = IS_LONG ? 200_000 : 1_500;
/** Few, so that a loop without an end is short. */
const STEPS = 20_000;

const PIECES = [
  "{{",
  "}}",
  "{%",
  "%}",
  "{#",
  "#}",
  "{%- ",
  " -%}",
  "{% for m in messages %}",
  "{% endfor %}",
  "{% if x %}",
  "{% elif y %}",
  "{% else %}",
  "{% endif %}",
  "{% set n = namespace(a=1) %}",
  "{% set n.a = n.a + 1 %}",
  "{% macro f(a, b=1) %}",
  "{% endmacro %}",
  "{{ f(1) }}",
  "{% for i in range(1000000000) %}",
  "{% for i in messages recursive %}",
  "{{ loop(messages) }}",
  "{% generation %}",
  "{% endgeneration %}",
  "{% raw %}",
  "{% endraw %}",
  "{% filter upper %}",
  "{% endfilter %}",
  "{% call f(1) %}",
  "{% endcall %}",
  "{{ messages[0].content }}",
  "{{ messages[-1:][::2] }}",
  "{{ 'a' * 1000000000 }}",
  "{{ [0] * 1000000000 }}",
  "{{ 2 ** 100000 }}",
  "{{ 1 // 0 }}",
  "{{ 1 % 0 }}",
  "{{ -5 % 3 }}",
  "{{ messages | tojson(indent=4) }}",
  "{{ x | default('d') | replace('', 'y') | trim }}",
  "{{ messages | map(attribute='role') | join(', ') }}",
  "{{ raise_exception('no') }}",
  "{{ strftime_now('%Y-%m-%d %%') }}",
  "{{ '%s' % x }}",
  "{{ x.split('')[0] }}",
  "{{ messages.__class__.__mro__ }}",
  "{{ constructor.prototype }}",
  "{{ x is defined and y is not none }}",
  " x ",
  "|",
  "(",
  ")",
  "[",
  "]",
  "{",
  "~",
  "not ",
  "in ",
  "'",
  '"',
  "\\",
  "1e999",
  "0x",
  "\n",
  "\u0000",
  "\ud800",
];

const piece = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...PIECES) },
  { weight: 1, arbitrary: fc.string({ maxLength: 4 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom("(", "{{ -", "[", "not ", "{% if x %}"), fc.nat(1_000))
      .map(([text, n]) => text.repeat(n)),
  },
);
const template = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(""));
const variables = fc.record({
  messages: fc.array(fc.record({ role: fc.string(), content: fc.string() }), { maxLength: 3 }),
  x: fc.jsonValue(),
});

test("any template renders or fails by name", () => {
  const property = fc.property(template, variables, (source, given) => {
    try {
      expect(typeof new Template(source).render(given, { steps: STEPS })).toBe("string");
    } catch (error) {
      if (!(error instanceof TemplateFailure || error instanceof TemplateUnsupported)) throw error;
    }
  });
  fc.assert(property, { numRuns: NUM_RUNS, seed: 23 });
});
