// What all browser tools share: who gets them, and how a result reaches a reader. A model reads JSON inside a fence,
// because pages wrote part of it; a protocol (MCP) takes the same result as data.

import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import type { Tool, ToolContext } from '../agent/tool.ts';
import type { RestBrowser } from '../browser/rest.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { type BrowserResult, fail, failure, type TaskBrowser } from '../browser/task-browser.ts';
import { cutText } from '../core/json.ts';
import { fenceUntrusted, showInvisible } from '../core/untrusted.ts';

export interface BrowserTool extends Tool {
  /** The result as data. Never rejects. */
  call(input: unknown, context: ToolContext): Promise<BrowserResult>;
}

export interface BrowserToolSpec<I> {
  name: string;
  description: string;
  input: z.ZodType<I>;
  /** Works on a backend with REST only; the others are hidden there. */
  rest?: (browser: RestBrowser, input: I, context: ToolContext) => Promise<BrowserResult>;
  cdp(browser: TaskBrowser, input: I, context: ToolContext): Promise<BrowserResult>;
  /** Opens a browser when the task has none. */
  starts?: boolean;
}

const TOOLSETS = ['browser', 'core', 'svc-acp', 'svc-api-server'];
const MAX_OUTPUT_CHARS = 120_000;
// Nearly every string; looking closer at each character costs more than the call itself.
const PLAIN = /^[\t\n\x20-\x7e]*$/;

export function browserTool<I>(browsers: Browsers, spec: BrowserToolSpec<I>): BrowserTool {
  const call = async (input: unknown, context: ToolContext): Promise<BrowserResult> => {
    const parsed = spec.input.safeParse(input);
    if (!parsed.success) {
      const reasons = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'input'}: ${message}`);
      return failure('invalid_input', reasons.join('; '), `Call ${spec.name} with the parameters it describes.`);
    }
    try {
      const browser = await (spec.starts ? browsers.start(context) : browsers.use(context));
      const result =
        browser.kind === 'cdp'
          ? await spec.cdp(browser, parsed.data, context)
          : await (spec.rest?.(browser, parsed.data, context) ?? notHere(spec.name));
      return withoutInvisible(result);
    } catch (error) {
      return withoutInvisible(fail(error));
    }
  };
  return {
    name: spec.name,
    description: spec.description,
    input: spec.input as z.ZodType<unknown>,
    toolsets: TOOLSETS,
    // Tools of one task share one tab.
    parallel: false,
    async hidden({ taskId }) {
      const backend = await browsers.backend(taskId);
      if (backend.kind === 'none') return backend.reason;
      if (backend.kind === 'rest' && spec.rest === undefined) return 'This browser backend has no debugging protocol.';
      return undefined;
    },
    call,
    async run(input, context) {
      const result = await call(input, context);
      const { text, cut } = cutText(JSON.stringify(result, null, 1), MAX_OUTPUT_CHARS);
      const output = cut ? `${text}\n(cut: the result is longer)` : text;
      if (!result.success && !('pending_dialogs' in result)) return { output, failed: true };
      const marker = randomBytes(6).toString('hex');
      const fenced = fenceUntrusted(output, marker, 'the answer of the browser, with text written by web pages');
      return { output: fenced, ...(result.success ? {} : { failed: true }) };
    },
  };
}

async function notHere(name: string): Promise<BrowserResult> {
  return failure(
    'no_supervisor',
    `${name} needs a browser with the debugging protocol.`,
    'Use the tools that you were given.',
  );
}

/** Shows control and other invisible characters in every string, so that no reader can be misled by them. */
function withoutInvisible<T>(value: T): T {
  if (typeof value === 'string') return visible(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutInvisible) as T;
  const shown: Record<string, unknown> = {};
  for (const key in value) shown[visible(key)] = withoutInvisible(value[key]);
  return shown as T;
}

const visible = (text: string): string => (PLAIN.test(text) ? text : showInvisible(text));
