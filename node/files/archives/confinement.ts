import { fstatSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import koffi from 'koffi';

/** Where programs and their libraries are. */
const READABLE = ['/usr', '/lib', '/lib64', '/etc/ld.so.cache'] as const;

/** include/uapi/asm-generic/resource.h */
const RLIMIT_NPROC = 6;
/** include/uapi/linux/prctl.h */
const PR_SET_NO_NEW_PRIVS = 38;

const libc = koffi.load('libc.so.6');

/**
 * Takes every right from this process but to compute, to read and write what it has open, and to load programs of the
 * system; where it is root, it takes this account. A program that it becomes gets none of them back. Throws where the kernel
 * refuses what every kernel has.
 */
export function confine(account: number): void {
  if (process.getuid?.() === 0) {
    process.setgroups?.([]);
    process.setgid?.(account);
    process.setuid?.(account);
  }
  beginNothing();
  const prctl = libc.func(
    'int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)',
  );
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) !== 0) throw failure('no_new_privs');
  closeFiles();
  closeCalls();
}

/** Lets this account begin no process and no thread from here. */
function beginNothing(): void {
  const setrlimit = libc.func('int setrlimit(int resource, const void *limit)');
  if (setrlimit(RLIMIT_NPROC, Buffer.alloc(16)) !== 0) throw failure('setrlimit');
}

/** include/uapi/linux/landlock.h; the numbers of its calls are the same everywhere. */
const LANDLOCK = { create: 444, addRule: 445, restrict: 446, pathBeneath: 1 } as const;
const LANDLOCK_VERSION = 1;
const EXECUTE = 1;
const READ_FILE = 4;
/** A locale has a folder that is opened. */
const READ_FOLDER = 8;
/** The kinds of access that each version knows: those to files by number, the network from the fourth on. */
const FILE_ACCESS: readonly number[] = [0, 13, 14, 15, 15, 16];
const NET_FROM = 4;
const NET_ACCESS = 3n;
/** From the sixth on: signals and abstract sockets of processes outside. */
const SCOPES_FROM = 6;
const SCOPES = 3n;

/** Lets nothing be opened but what programs are loaded from. No-op where the kernel has no Landlock. */
function closeFiles(): void {
  const create = libc.func('syscall', 'long', ['long', 'void *', 'size_t', 'uint32_t']);
  const version = Number(create(LANDLOCK.create, null, 0, LANDLOCK_VERSION));
  if (version < 1) return;
  const kinds = FILE_ACCESS[Math.min(version, FILE_ACCESS.length - 1)] ?? 0;
  const attributes = new BigUint64Array([
    (1n << BigInt(kinds)) - 1n,
    version >= NET_FROM ? NET_ACCESS : 0n,
    version >= SCOPES_FROM ? SCOPES : 0n,
  ]);
  const ruleset = Number(create(LANDLOCK.create, Buffer.from(attributes.buffer), 24, 0));
  if (ruleset < 0) throw failure('landlock_create_ruleset');
  for (const path of READABLE) allow(ruleset, path);
  const restrict = libc.func('syscall', 'long', ['long', 'int', 'uint32_t']);
  if (Number(restrict(LANDLOCK.restrict, ruleset, 0)) !== 0) throw failure('landlock');
}

/** No-op for a path that is missing. */
function allow(ruleset: number, path: string): void {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return;
  }
  const access = EXECUTE | READ_FILE | (fstatSync(file).isDirectory() ? READ_FOLDER : 0);
  const rule = Buffer.alloc(12);
  rule.writeBigUInt64LE(BigInt(access), 0);
  rule.writeInt32LE(file, 8);
  const add = libc.func('syscall', 'long', ['long', 'int', 'int', 'void *', 'uint32_t']);
  if (Number(add(LANDLOCK.addRule, ruleset, LANDLOCK.pathBeneath, rule, 0)) !== 0)
    throw failure('landlock_add_rule');
}

interface Machine {
  /** include/uapi/linux/audit.h */
  readonly arch: number;
  readonly seccomp: number;
  /** Calls that are refused: sockets, io_uring, other processes, namespaces. */
  readonly refused: readonly number[];
}

/** Calls whose numbers are the same everywhere: io_uring, pidfd, clone3, user faults. */
const REFUSED_EVERYWHERE = [424, 425, 426, 427, 434, 435, 438] as const;

/** arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h */
const MACHINES: Readonly<Record<string, Machine>> = {
  x64: {
    arch: 0xc000003e,
    seccomp: 317,
    refused: [
      41, 42, 49, 50, 53, 57, 58, 62, 101, 129, 155, 161, 165, 166, 200, 234, 248, 249, 250, 272,
      297, 298, 308, 310, 311, 321, 323,
    ],
  },
  arm64: {
    arch: 0xc00000b7,
    seccomp: 277,
    refused: [
      39, 40, 51, 41, 97, 117, 129, 130, 131, 138, 198, 199, 200, 201, 203, 217, 218, 219, 240, 241,
      268, 270, 271, 280, 282,
    ],
  },
};

const SECCOMP_SET_MODE_FILTER = 1;
/** include/uapi/linux/bpf_common.h, seccomp.h */
const BPF = { load: 0x20, jumpEqual: 0x15, jumpGreaterOrEqual: 0x35, return: 0x06 } as const;
const KILL = 0x80000000;
const REFUSE = 0x00050000 | constants.errno.EPERM;
const ALLOW = 0x7fff0000;
/** Numbers from here on are of another interface of the same machine. */
const X32 = 0x40000000;

/** Refuses calls that reach the network or other processes. No-op on machines whose numbers are not here. */
function closeCalls(): void {
  const machine = MACHINES[process.arch];
  if (machine === undefined) return;
  const refused = [...machine.refused, ...REFUSED_EVERYWHERE];
  const program: [code: number, ifTrue: number, ifFalse: number, value: number][] = [
    [BPF.load, 0, 0, 4],
    [BPF.jumpEqual, 1, 0, machine.arch],
    [BPF.return, 0, 0, KILL],
    [BPF.load, 0, 0, 0],
    [BPF.jumpGreaterOrEqual, refused.length + 1, 0, X32],
    ...refused.map((number, index): [number, number, number, number] => [
      BPF.jumpEqual,
      refused.length - index,
      0,
      number,
    ]),
    [BPF.return, 0, 0, ALLOW],
    [BPF.return, 0, 0, REFUSE],
  ];
  const filter = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    filter.writeUInt16LE(code, index * 8);
    filter.writeUInt8(ifTrue, index * 8 + 2);
    filter.writeUInt8(ifFalse, index * 8 + 3);
    filter.writeUInt32LE(value, index * 8 + 4);
  }
  const fprog = koffi.struct({ length: 'uint16_t', filter: 'void *' });
  const seccomp = libc.func('syscall', 'long', [
    'long',
    'uint32_t',
    'uint32_t',
    koffi.pointer(fprog),
  ]);
  const order = { length: program.length, filter };
  if (Number(seccomp(machine.seccomp, SECCOMP_SET_MODE_FILTER, 0, order)) !== 0)
    throw failure('seccomp');
}

function failure(what: string): Error {
  return new Error(`${what}: error ${koffi.errno()}`);
}
