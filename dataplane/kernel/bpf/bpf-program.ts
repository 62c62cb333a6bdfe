import {
  ATTACH_TYPES,
  ATTR_BYTES,
  call,
  callOffThread,
  type Descriptor,
  keepAlive,
  NAME_BYTES,
  PROGRAM_TYPES,
  type ProgramType,
} from './bpf.ts';
import { addressOf, SystemError } from '../native.ts';

/** The program supports packets in several buffers, as devices with an MTU of 9000 deliver them. */
const XDP_HAS_FRAGS = 1 << 5;

export interface ProgramImage {
  readonly type: ProgramType;
  /** Eight bytes each, relocated. */
  readonly instructions: Buffer;
  readonly license: string;
}

/** The verifier rejected the program. `log` ends with the reason. */
export class ProgramRefused extends Error {
  override readonly name = 'ProgramRefused';
  readonly log: string;
  /** The name of its errno. */
  readonly code: string;
  constructor(log: string, cause: SystemError) {
    super(`the kernel's verifier refused the program: ${cause.code}`, { cause });
    this.log = log;
    this.code = cause.code;
  }
}

const LOG_BYTES = 1 << 20;

/** A signal, such as SIGCHLD, interrupts the verifier, which is no fault of the program. */
const LOAD_TRIES = 20;
const INTERRUPTED = ['EAGAIN', 'EWOULDBLOCK', 'EINTR'];

export function loadProgram(name: string, image: ProgramImage): Descriptor {
  try {
    return loadUninterrupted(name, image);
  } catch (error) {
    if (!(error instanceof SystemError) || error.code === 'EPERM') throw error;
    const log = Buffer.alloc(LOG_BYTES);
    try {
      return call('programLoad', programAttr(name, image, log));
    } catch {
      throw new ProgramRefused(log.toString('latin1', 0, log.indexOf(0)), error);
    }
  }
}

function loadUninterrupted(name: string, image: ProgramImage): Descriptor {
  for (let tries = 1; ; tries++) {
    try {
      return call('programLoad', programAttr(name, image, null));
    } catch (error) {
      const again = error instanceof SystemError && INTERRUPTED.includes(error.code);
      if (!again || tries === LOAD_TRIES) throw error;
    }
  }
}

/** Verifies on another thread, because a large program takes 200 ms. */
export async function loadProgramOffThread(name: string, image: ProgramImage): Promise<Descriptor> {
  const loaded = await callOffThread('programLoad', programAttr(name, image, null));
  return loaded ?? loadProgram(name, image);
}

function programAttr(name: string, image: ProgramImage, log: Buffer | null): Buffer {
  const attr = Buffer.alloc(ATTR_BYTES);
  const license = Buffer.alloc(image.license.length + 1);
  license.write(image.license, 'ascii');
  keepAlive(attr, image.instructions, license);
  attr.writeUInt32LE(PROGRAM_TYPES[image.type], 0);
  attr.writeUInt32LE(image.instructions.length / 8, 4);
  attr.writeBigUInt64LE(addressOf(image.instructions), 8);
  attr.writeBigUInt64LE(addressOf(license), 16);
  if (log !== null) {
    attr.writeUInt32LE(1, 24);
    attr.writeUInt32LE(log.length, 28);
    attr.writeBigUInt64LE(addressOf(log), 32);
  }
  if (image.type === 'xdp') {
    attr.writeUInt32LE(XDP_HAS_FRAGS, 44);
    attr.writeUInt32LE(ATTACH_TYPES.xdp, 68);
  }
  attr.write(name.slice(0, NAME_BYTES), 48, 'ascii');
  return attr;
}
