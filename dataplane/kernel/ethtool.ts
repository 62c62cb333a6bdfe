import { addressOf, errno, type Library, libc, SystemError } from './native.ts';

/** Facts that a device's driver reports. */
export interface DriverInfo {
  /** `veth`, `bonding`, `bridge`, `802.1Q VLAN Support`, `virtio_net`, `ixgbe`, ... */
  readonly driver: string;
  /** The bus address, such as `0000:01:00.0`; empty for a virtual device. */
  readonly bus: string;
}

// https://elixir.bootlin.com/linux/v6.12/source/include/uapi/linux/ethtool.h#L188
const SIOCETHTOOL = 0x8946;
const ETHTOOL_GDRVINFO = 3;
const ETHTOOL_GFLAGS = 0x25;
const ETH_FLAG_RXVLAN = 1 << 8;
const DRVINFO_BYTES = 196;
const DRIVER_AT = 4;
const BUS_AT = 100;
const TEXT_BYTES = 32;
/** struct ifreq: a name, then a pointer to the command. */
const IFREQ_BYTES = 40;
const NAME_BYTES = 16;
const AF_INET = 2;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000;

let calls: ReturnType<typeof declare> | null = null;

function declare(library: Library) {
  return {
    socket: library.func('int socket(int, int, int)'),
    ioctl: library.func('int ioctl(int, unsigned long, void *)'),
    close: library.func('int close(int)'),
  };
}

/** Reads from the network namespace of this process. Returns null without such a device or answer. */
export function driverInfo(device: string): DriverInfo | null {
  const info = query(device, ETHTOOL_GDRVINFO, DRVINFO_BYTES);
  return info === null ? null : { driver: textAt(info, DRIVER_AT), bus: textAt(info, BUS_AT) };
}

/** Whether the card removes VLAN tags before software sees the frame. False if unknown. */
export function takesVlanTags(device: string): boolean {
  const flags = query(device, ETHTOOL_GFLAGS, 8);
  return flags !== null && (flags.readUInt32LE(4) & ETH_FLAG_RXVLAN) !== 0;
}

function query(device: string, command: number, bytes: number): Buffer | null {
  calls ??= declare(libc());
  const socket = calls.socket(AF_INET, SOCK_DGRAM_CLOEXEC, 0) as number;
  if (socket < 0) throw new SystemError('socket', errno());
  try {
    const answer = Buffer.alloc(bytes);
    answer.writeUInt32LE(command, 0);
    const request = Buffer.alloc(IFREQ_BYTES);
    request.write(device.slice(0, NAME_BYTES - 1), 'latin1');
    request.writeBigUInt64LE(addressOf(answer), NAME_BYTES);
    return (calls.ioctl(socket, SIOCETHTOOL, request) as number) < 0 ? null : answer;
  } finally {
    calls.close(socket);
  }
}

function textAt(buffer: Buffer, at: number): string {
  const text = buffer.subarray(at, at + TEXT_BYTES);
  const end = text.indexOf(0);
  return text.toString('latin1', 0, end < 0 ? TEXT_BYTES : end);
}
