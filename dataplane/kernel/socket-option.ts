import { libc, NativeUnavailable } from './native.ts';

type GetSockOpt = (
  fd: number,
  level: number,
  name: number,
  value: Uint8Array,
  length: Uint8Array,
) => number;

let getsockopt: GetSockOpt | null = null;

/** Reads the first bytes of a socket option. Returns null if it is unavailable or shorter. */
export function getOption(fd: number, level: number, name: number, bytes: number): Buffer | null {
  try {
    getsockopt ??= libc().func(
      'int getsockopt(int fd, int level, int name, _Out_ uint8_t *value, _Inout_ uint8_t *length)',
    );
  } catch (error) {
    if (error instanceof NativeUnavailable) return null;
    throw error;
  }
  const value = Buffer.alloc(bytes);
  const length = Buffer.alloc(4);
  // In host byte order, which is little-endian on all supported hosts.
  length.writeUInt32LE(bytes);
  const failed = getsockopt(fd, level, name, value, length) !== 0;
  return failed || length.readUInt32LE() < bytes ? null : value;
}
