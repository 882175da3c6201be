// The closed list of error codes, and the one error class of the house.
// A SvcError is for what should not happen; what a caller must expect is a value with `kind`.

export const ERROR_CODES = [
  'usage',
  'invalid_input',
  'not_found',
  'conflict',
  'config_invalid',
  'home_unusable',
  'store_unavailable',
  'store_newer',
  'store_busy',
  'port_in_use',
  'gateway_running',
  'gateway_not_running',
  'part_missing',
  'model_not_configured',
  'model_failed',
  'tool_failed',
  'delivery_failed',
  'schedule_invalid',
  'script_failed',
  'skill_invalid',
  'no_supervisor',
  'no_dialog',
  'dialog_not_found',
  'dialog_ambiguous',
  'dialog_open',
  'invalid_action',
  'frame_not_found',
  'frame_not_oopif',
  'cdp_error',
  'timeout',
  'browser_gone',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export class SvcError extends Error {
  readonly code: ErrorCode;
  /** The next step for the reader. */
  readonly help: string | undefined;

  constructor(code: ErrorCode, message: string, options: { help?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SvcError';
    this.code = code;
    this.help = options.help;
  }
}

/** The sentence of any thrown value, for logs and stored reasons. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
