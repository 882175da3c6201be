// A seccomp filter, as bubblewrap takes it, under which every fsync and fdatasync fails with an I/O error: the only
// honest way to see what happens when a disk cannot promise anything.

import { arch } from 'node:process';

const FSYNC: Readonly<Record<string, readonly number[]>> = { x64: [74, 75], arm64: [82, 83] };

// Classic BPF: load the syscall's number, compare, return.
const LOAD_NUMBER = { code: 0x20, k: 0 };
const JUMP_IF_EQUAL = 0x15;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const FAIL_WITH_EIO = 0x00050000 + 5;

/** Undefined on processors whose numbers are not in the table. */
export function failingSyncs(): Buffer | undefined {
  const [first, second] = FSYNC[arch] ?? [];
  if (first === undefined || second === undefined) return undefined;
  return Buffer.concat([
    instruction(LOAD_NUMBER.code, 0, 0, LOAD_NUMBER.k),
    instruction(JUMP_IF_EQUAL, 2, 0, first),
    instruction(JUMP_IF_EQUAL, 1, 0, second),
    instruction(RETURN, 0, 0, ALLOW),
    instruction(RETURN, 0, 0, FAIL_WITH_EIO),
  ]);
}

function instruction(code: number, ifTrue: number, ifFalse: number, k: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(k, 4);
  return bytes;
}
