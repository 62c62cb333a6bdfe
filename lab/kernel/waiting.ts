import { readlinkSync } from 'node:fs';
import type { Descriptor } from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { libc } from '@portcullis/dataplane/kernel/native.ts';
import { withDescriptorsOf } from './descriptors.ts';

/** Source: include/linux/socket.h. */
const MSG_PEEK = 0x2;
const MSG_DONTWAIT = 0x40;
/** More than any message that tests wait for has before it. */
const PEEK_BYTES = 1 << 20;

/** Whether this text waits in a socket of a process, which is stopped, to be read: it stays there. */
export function waitsFor(pid: number, text: string): boolean {
  const recv = libc().func(
    'intptr_t recv(int fd, _Out_ uint8_t *bytes, size_t length, int flags)',
  ) as (fd: Descriptor, bytes: Uint8Array, length: number, flags: number) => number;
  const bytes = Buffer.alloc(PEEK_BYTES);
  const has = (socket: Descriptor): boolean => {
    const length = recv(socket, bytes, bytes.length, MSG_PEEK | MSG_DONTWAIT);
    return length > 0 && bytes.subarray(0, length).includes(text);
  };
  return withDescriptorsOf(
    pid,
    (fd) => isSocket(pid, fd),
    (sockets) => sockets.some(has),
  );
}

/** False also of what was closed meanwhile. */
function isSocket(pid: number, fd: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:');
  } catch {
    return false;
  }
}
