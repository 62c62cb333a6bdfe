import { libc, NativeUnavailable } from './native.ts';

type GetSockOpt = (
  fd: number,
  level: number,
  name: number,
  value: Uint8Array,
  length: Uint8Array,
) => number;

let getsockopt: GetSockOpt | null = null;

/** The first bytes of an option of a socket; null where it cannot be asked, or is shorter. */
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
  // Of this host's byte order, and every host that Node runs on here is little-endian.
  length.writeUInt32LE(bytes);
  const failed = getsockopt(fd, level, name, value, length) !== 0;
  return failed || length.readUInt32LE() < bytes ? null : value;
}
