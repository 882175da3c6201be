// Which addresses are near and which are out on the internet. Pure: names are resolved elsewhere.
// An IPv6 address that carries an IPv4 one inside (mapped, NAT64, 6to4) is judged by the inner one.

type Range = readonly [bytes: readonly number[], bits: number];

const V4_LOCAL: readonly Range[] = [
  [[127], 8],
  [[10], 8],
  [[172, 16], 12],
  [[192, 168], 16],
  [[169, 254], 16],
  [[100, 64], 10],
];

const V4_SPECIAL: readonly Range[] = [
  [[0], 8],
  [[192, 0, 0], 24],
  [[192, 0, 2], 24],
  [[192, 88, 99], 24],
  [[198, 18], 15],
  [[198, 51, 100], 24],
  [[203, 0, 113], 24],
  [[224], 4],
  [[240], 4],
];

const V6_LOCAL: readonly Range[] = [
  [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 128],
  [[0xfc], 7],
  [[0xfe, 0x80], 10],
];

const V6_SPECIAL: readonly Range[] = [
  [[0x20, 0x01, 0, 0], 32],
  [[0x20, 0x01, 0x0d, 0xb8], 32],
  [[0x20, 0x01, 0x00, 0x20], 28],
  [[0x3f, 0xff, 0x00], 20],
];

/** Loopback, private, link-local or carrier-grade, of either family. False for text that is not an address. */
export function isLocalAddress(text: string): boolean {
  const address = parseAddress(text);
  if (!address) return false;
  return address.length === 4 ? inAny(address, V4_LOCAL) : inAny(address, V6_LOCAL);
}

/** A unicast address of the public internet. False for text that is not an address. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (!address) return false;
  if (address.length === 4) return !inAny(address, V4_LOCAL) && !inAny(address, V4_SPECIAL);
  // Only 2000::/3 is handed out for the public internet.
  return inRange(address, [[0x20], 3]) && !inAny(address, V6_SPECIAL);
}

/** Four or sixteen bytes, with an inner IPv4 address taken out; undefined when the text is no address. */
function parseAddress(text: string): readonly number[] | undefined {
  const bare = text.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  const address = bare.includes(':') ? parseV6(bare) : parseV4(bare);
  if (address?.length !== 16) return address;
  const startsWith = (...bytes: number[]) => bytes.every((byte, index) => address[index] === byte);
  if (startsWith(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff)) return address.slice(12);
  if (startsWith(0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0)) return address.slice(12);
  if (startsWith(0x20, 0x02)) return address.slice(2, 6);
  return address;
}

function parseV4(text: string): number[] | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255)) return undefined;
  return parts.map(Number);
}

function parseV6(text: string): number[] | undefined {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  let plain = text;
  if (dotted) {
    const tail = parseV4(dotted[2] ?? '');
    if (!tail) return undefined;
    const [a = 0, b = 0, c = 0, d = 0] = tail;
    plain = `${dotted[1]}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  }
  const halves = plain.split('::');
  if (halves.length > 2) return undefined;
  const groupsOf = (half: string | undefined) => (half ? half.split(':') : []);
  const head = groupsOf(halves[0]);
  const tail = groupsOf(halves[1]);
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array<string>(missing).fill('0'), ...tail];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return groups.flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

const inAny = (address: readonly number[], ranges: readonly Range[]): boolean =>
  ranges.some((range) => inRange(address, range));

function inRange(address: readonly number[], [bytes, bits]: Range): boolean {
  for (let index = 0; index * 8 < bits; index++) {
    const mask = 0xff & (0xff << Math.max(0, 8 - (bits - index * 8)));
    if (((address[index] ?? 0) & mask) !== ((bytes[index] ?? 0) & mask)) return false;
  }
  return true;
}
