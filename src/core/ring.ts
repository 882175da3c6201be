// A bounded list as a plain value: adding beyond the limit drops the oldest.

export function pushBounded<T>(items: readonly T[], item: T, limit: number): readonly T[] {
  const kept = items.length >= limit ? items.slice(items.length - limit + 1) : items;
  return [...kept, item];
}
