import type { KoffiFunc } from 'koffi';
import { libc } from '../native.ts';

/** Source of all numbers: include/uapi/asm-generic/fcntl.h. */
const [GET_FLAGS, SET_FLAGS, SET_OWNER] = [3, 4, 8] as const;
const O_ASYNC = 0o20000;
/** The polling interval in case a signal is lost; `POLL_MS` if the kernel sends none. */
const FALLBACK_MS = 1_000;
const POLL_MS = 100;

type Fcntl = KoffiFunc<(fd: number, command: number, value: number) => number>;

/** The handlers of all sockets, called on each signal. */
const watched = new Set<() => void>();
let fcntl: Fcntl | null = null;
let listens = false;

export interface Arrivals {
  /** Call it before the socket is closed. */
  stop(): void;
}

/**
 * Calls `read` this many milliseconds after data arrived at a socket, so that a burst is read together, and otherwise
 * every second. The kernel signals arrivals by SIGIO, which costs nothing while idle; polling 20 times a second costs
 * a few hundredths of a processor.
 */
export function onArrival(fd: number, settleMs: number, read: () => void): Arrivals {
  let settling: NodeJS.Timeout | undefined;
  const onSignal = (): void => {
    settling ??= setTimeout(() => {
      settling = undefined;
      read();
    }, settleMs);
  };
  listen();
  watched.add(onSignal);
  const timer = setInterval(read, requestSignals(fd) ? FALLBACK_MS : POLL_MS);
  return {
    stop: () => {
      setFlags(fd, (flags) => flags & ~O_ASYNC);
      watched.delete(onSignal);
      clearInterval(timer);
      clearTimeout(settling);
    },
  };
}

/** Installed before any signal and never removed: without a handler SIGIO ends the process. */
function listen(): void {
  if (listens) return;
  listens = true;
  process.on('SIGIO', () => {
    for (const onSignal of watched) onSignal();
  });
}

function requestSignals(fd: number): boolean {
  const owned = call(fd, SET_OWNER, process.pid) >= 0;
  return owned && setFlags(fd, (flags) => flags | O_ASYNC);
}

function setFlags(fd: number, change: (flags: number) => number): boolean {
  const flags = call(fd, GET_FLAGS, 0);
  return flags >= 0 && call(fd, SET_FLAGS, change(flags)) >= 0;
}

/** Declared with a fixed last argument, which works like a variadic call on supported processors. */
function call(fd: number, command: number, value: number): number {
  fcntl ??= libc().func('int fcntl(int fd, int command, long value)') as Fcntl;
  return fcntl(fd, command, value);
}
