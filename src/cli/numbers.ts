// Numbers in options.

import { SvcError } from '../core/errors.ts';

/** A whole number from 1 to `max`, or a usage error that names the option. */
export function wholeNumber(text: string, option: string, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new SvcError('usage', `${option} takes a whole number from 1 to ${max}, not "${text.slice(0, 40)}".`, {
    help: `E.g. ${option} ${Math.min(10, max)}`,
  });
}
