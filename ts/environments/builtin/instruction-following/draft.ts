/** A reply that is built to follow given instructions, which proves that the task can be solved. */

export interface Draft {
  title: string | null;
  /** Sentences of the text, without commas. */
  sentences: string[];
  /** The text has this many parts under headings with this word; 0: none. */
  sections: { heading: string; count: number };
  bullets: string[];
  postscript: string | null;
  /** The very last words. */
  end: string | null;
  letters: "as they are" | "capital" | "small";
  quoted: boolean;
}

export function emptyDraft(): Draft {
  return {
    title: null,
    sentences: [],
    sections: { heading: "", count: 0 },
    bullets: [],
    postscript: null,
    end: null,
    letters: "as they are",
    quoted: false,
  };
}

export function write(draft: Draft): string {
  const { sections, sentences, letters } = draft;
  const parts = [
    ...(draft.title === null ? [] : [`<<${draft.title}>>`]),
    ...(sections.count === 0 ? [sentences.join(" ")] : inSections(sentences, sections)),
    ...draft.bullets.map((bullet) => `- ${bullet}`),
    ...(draft.postscript === null ? [] : [draft.postscript]),
    ...(draft.end === null ? [] : [draft.end]),
  ];
  const text = parts.join("\n");
  const cased = letters === "capital" ? text.toUpperCase() : letters === "small" ? text.toLowerCase() : text;
  return draft.quoted ? `"${cased}"` : cased;
}

function inSections(sentences: readonly string[], { heading, count }: Draft["sections"]): string[] {
  const share = Math.ceil(sentences.length / count);
  return Array.from({ length: count }, (_, index) => {
    const own = sentences.slice(index * share, (index + 1) * share);
    return `${heading} ${index + 1}\n${own.join(" ")}`;
  });
}
