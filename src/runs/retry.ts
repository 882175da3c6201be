// When a run that failed for a passing reason is tried again.

const DELAYS_MS = [5_000, 30_000, 120_000, 600_000, 3_600_000] as const;

/** The delay before the next try, after `retries` earlier ones. */
export const retryDelayMs = (retries: number): number => DELAYS_MS[Math.min(retries, DELAYS_MS.length - 1)] ?? 0;
