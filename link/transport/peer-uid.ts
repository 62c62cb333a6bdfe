import type { Socket } from 'node:net';
import koffi from 'koffi';
import type { PeerUid } from './pending-connections.ts';

/** Source: include/uapi/asm-generic/socket.h. */
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** struct ucred: pid, uid and gid. */
const UCRED_BYTES = 12;
const UID_OFFSET = 4;

type GetSockOpt = (fd: number, level: number, name: number, value: Buffer, size: Buffer) => number;
let getsockopt: GetSockOpt | null | undefined;

/** The account of the process at the other end, as of its connect. Null on a system that cannot tell. */
export function peerUid(socket: Socket): PeerUid {
  getsockopt ??= openGetSockOpt();
  const fd = descriptorOf(socket);
  if (getsockopt === null || fd === null) return null;
  const value = Buffer.alloc(UCRED_BYTES);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(UCRED_BYTES);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, value, size) !== 0) return null;
  return value.readUInt32LE(UID_OFFSET);
}

function openGetSockOpt(): GetSockOpt | null {
  try {
    return koffi
      .load('libc.so.6')
      .func('int getsockopt(int fd, int level, int name, void *value, void *size)') as GetSockOpt;
  } catch {
    return null;
  }
}

/** Node has no public way to the descriptor of a socket. */
function descriptorOf(socket: Socket): number | null {
  const { _handle: handle } = socket as { readonly _handle?: { readonly fd?: unknown } | null };
  const fd = handle?.fd;
  return typeof fd === 'number' && fd >= 0 ? fd : null;
}
