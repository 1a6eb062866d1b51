/** A template that is compiled once and rendered often. */
import { Budget } from "./budget.ts";
import { compileFrame, type Execution } from "./compile/compile-statement.ts";
import { TemplateFailure, TemplateUnsupported } from "./failures.ts";
import { fromJson } from "./from-json.ts";
import { templateGlobals } from "./globals.ts";
import { parseTemplate } from "./parse/parse-statements.ts";
import { type GenerationMarks, Rendering } from "./rendering.ts";
import { Scope } from "./compile/scope.ts";
import type { Value } from "./values.ts";

export interface TemplateOptions {
  /** Texts to write around `{% generation %}` blocks. */
  marks?: GenerationMarks;
  /** The time of `strftime_now`. */
  now?: () => Date;
  /** Steps that the rendering may take. */
  steps?: number;
}

export class Template {
  /** The template has a `{% generation %}` block. */
  readonly hasGeneration: boolean;
  readonly #run: Execution;

  /** Errors: TemplateFailure, TemplateUnsupported. */
  constructor(source: string) {
    const { body, hasGeneration } = translated(null, () => parseTemplate(source));
    this.hasGeneration = hasGeneration;
    this.#run = translated(null, () => compileFrame(body, [], { isConditional: false, names: null }));
  }

  /** Variables hold JSON; undefined ones are left out. Errors: TemplateFailure, TemplateUnsupported. */
  render(variables: Readonly<Record<string, unknown>>, options: TemplateOptions = {}): string {
    const { marks = null, now = () => new Date(), steps } = options;
    const rendering = new Rendering(new Budget(steps), marks);
    return translated(rendering, () => {
      const given = new Map<string, Value>();
      for (const [name, value] of Object.entries(variables)) {
        if (value !== undefined) given.set(name, fromJson(value, name));
      }
      const globals = new Scope(null, new Map(templateGlobals(now)));
      this.#run(rendering, new Scope(new Scope(globals, given)));
      return rendering.output;
    });
  }
}

/** Adds the line to failures; a stack overflow is a failure, too. */
function translated<T>(rendering: Rendering | null, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const where = rendering === null ? "" : `line ${rendering.line}: `;
    if (cause instanceof TemplateUnsupported) throw new TemplateUnsupported(where + cause.message, { cause });
    if (cause instanceof TemplateFailure) throw new TemplateFailure(where + cause.message, { cause });
    if (cause instanceof RangeError) throw new TemplateFailure(`${where}it nests too deep`, { cause });
    throw cause;
  }
}
