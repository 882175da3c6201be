// The contract of a dialect: how each thing that Markdown knows looks on a platform. Pure text, no decisions.

/** Arguments named `inner` are in the dialect already; all others are raw text. */
export interface Dialect {
  text(raw: string): string;
  /** What to write for `\\*`: absent means the bare character. */
  escaped?(source: string): string;
  strong(inner: string): string;
  emphasis(inner: string): string;
  strike(inner: string): string;
  code(raw: string): string;
  link(inner: string, url: string): string;
  lineBreak: string;
  codeBlock(raw: string, language: string): string;
  heading(inner: string, level: number): string;
  paragraph(inner: string): string;
  quote(inner: string): string;
  /** `marker` is `•`, `1.` or a task box; `depth` counts from 0. */
  listItem(inner: string, marker: string, depth: number): string;
  list(items: string[], ordered: boolean): string;
  rule: string;
  /** Cells in the dialect; the first row is the head. Absent: shown as a code block of aligned columns. */
  table?(rows: string[][]): string;
  /** Between two blocks. */
  between: string;
}
