// Roughly how much memory an operation's input takes while it waits. Refuses what cannot cross to another thread.

const PER_VALUE = 8;

export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length * 2 + PER_VALUE;
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError('The input of a store operation must be plain data.');
  }
  if (typeof value !== 'object' || value === null) return PER_VALUE;
  if (ArrayBuffer.isView(value)) return value.byteLength + PER_VALUE;
  let size = PER_VALUE;
  if (Array.isArray(value)) for (const part of value) size += sizeOf(part);
  else for (const key of Object.keys(value)) size += key.length * 2 + sizeOf(Reflect.get(value, key));
  return size;
}
